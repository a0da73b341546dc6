"""L11: how fast documents go through the whole ingest graph into a base, without a model; loading alone beside it."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
from statistics import median

from benchmarks import l11_loading as loading
from benchmarks.corpus import passage, records, topic
from benchmarks.effort import Effort
from benchmarks.report import Row
from groundgraph import ingest_graph, load_settings
from groundgraph.graph.ingest import run_ingest
from groundgraph.ingest.ingest_report import IngestReport

SECTIONS_PER_FILE = 10
MB, PAGES, RECORDS = 5, 1000, 20_000


def run(effort: Effort) -> list[Row]:
    return [*loading.run(effort), *_whole(effort)]


def _whole(effort: Effort) -> list[Row]:
    files, pages, count = 40 * effort.turns, 40 * effort.turns, 1500 * effort.turns
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind in ("markdown", "text", "pdf", "csv"):
            (folder / kind).mkdir()
        for number in range(files):
            _sections(folder, number)
        for number in range(8):
            loading._pdf(folder / "pdf" / f"{number}.pdf", pages // 8)
        loading._csv(folder / "csv" / "a.csv", records("table", range(count // 10)))
        rows = [
            _row(effort, folder, "markdown", "MB", _megabytes(folder / "markdown"), MB),
            _row(effort, folder, "text", "MB", _megabytes(folder / "text"), MB),
            _row(effort, folder, "pdf", "pages", pages // 8 * 8, PAGES),
            _row(effort, folder, "csv", "records", count, RECORDS),
        ]
        return [*rows, _again(effort, folder, files)]


def _megabytes(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.iterdir()) / 1e6


def _sections(folder: Path, number: int) -> None:
    random_ = random.Random(number)
    names = [topic(number * SECTIONS_PER_FILE + place) for place in range(SECTIONS_PER_FILE)]
    texts = [passage(random_, name, 300, 600) for name in names]
    markdown = "".join(f"## {name}\n\n{text}\n\n" for name, text in zip(names, texts, strict=True))
    (folder / "markdown" / f"{number}.md").write_text(f"# Manual {number}\n\n{markdown}")
    plain = "".join(
        f"{place}.  {name.title()}\n\n{text}\n\n"
        for place, (name, text) in enumerate(zip(names, texts, strict=True), 1)
    )
    (folder / "text" / f"{number}.txt").write_text(plain)


def _row(effort: Effort, folder: Path, kind: str, unit: str, count: float, allowed: int) -> Row:
    rates, alone = [], []
    for number in range(min(effort.rounds, 5)):
        own, read = _cpu(lambda: _ingest(folder / f"{kind}{number}.sqlite", folder / kind))  # noqa: B023
        rates.append(count / (own + read))
        alone.append(count / own)
    measured = median(rates)
    return Row(
        "L11",
        f"{kind}: {unit} through the whole ingest graph into a base, per second of CPU of all its processes",
        loading.rate(measured, unit),
        f"{loading.rate(median(alone), unit)} per second of its own process",
        allowed=f"{allowed} {unit}/s",
        ok=measured >= allowed,
        values={"per_second": measured, "per_own_second": median(alone)},
    )


def _again(effort: Effort, folder: Path, files: int) -> Row:
    base = folder / "markdown0.sqlite"
    rates = [files / sum(_cpu(lambda: _ingest(base, folder / "markdown"))) for _ in range(min(effort.rounds, 5))]
    measured = median(rates)
    return Row(
        "L11", "a second run over unchanged Markdown files", f"{measured:.0f} files/s", values={"per_second": measured}
    )


def _ingest(base: Path, folder: Path) -> IngestReport:
    settings = load_settings({"knowledge_base": {"file": str(base)}})
    report = asyncio.run(run_ingest(ingest_graph(settings), {"paths": [str(folder)]}))
    if report.failed:
        raise RuntimeError(f"the benchmark's own files failed: {report.failed[0]}")
    return report


def _cpu(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds of this process, and of those that read for it, their start included."""
    before = [_spent(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    work()
    own, read = (_spent(who) - known for who, known in zip((RUSAGE_SELF, RUSAGE_CHILDREN), before, strict=True))
    return max(own, 1e-6), read


def _spent(who: int) -> float:
    usage = getrusage(who)
    return usage.ru_utime + usage.ru_stime
