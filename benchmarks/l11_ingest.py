"""L11: how fast documents go through the whole ingest graph into a base, without a model; loading alone beside it."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from benchmarks import l11_loading as loading
from benchmarks.corpus import passage, records, topic
from benchmarks.effort import Effort
from benchmarks.report import Row
from groundgraph import ingest_graph, load_settings
from groundgraph.graph.ingest_documents import run_ingest
from groundgraph.ingest.ingest_report import IngestReport

SECTIONS_PER_FILE = 10


def run(effort: Effort) -> list[Row]:
    return [*loading.run(effort), *_whole(effort)]


def _whole(effort: Effort) -> list[Row]:
    files, pages, count = 10 * effort.turns, loading.PAGES * effort.turns, loading.RECORDS * effort.turns
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kinds = ("markdown", "text", "pdf", "csv")
        for kind in kinds:
            (folder / kind).mkdir()
        for number in range(files):
            _sections(folder, number)
        loading._pdf(folder / "pdf" / "a.pdf", pages)
        loading._csv(folder / "csv" / "a.csv", records("table", range(count // 10)))
        sections = files * SECTIONS_PER_FILE
        figures = zip(
            kinds, ("sections", "sections", "pages", "records"), (sections, sections, pages, count), strict=True
        )
        limits = {"sections": 1000, "pages": 150, "records": 5000}
        rows = [_row(effort, folder, kind, unit, number, limits[unit]) for kind, unit, number in figures]
        return [*rows, _again(effort, folder, files)]


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


def _row(effort: Effort, folder: Path, kind: str, unit: str, count: int, allowed: int) -> Row:
    rates = []
    for number in range(min(effort.rounds, 5)):
        base = folder / f"{kind}{number}.sqlite"
        rates.append(count / _cpu(lambda: _ingest(base, folder / kind)))  # noqa: B023
    measured = median(rates)
    return Row(
        "L11",
        f"{kind}: {unit} through the whole ingest graph into a base, per second of CPU",
        f"{measured:.0f} {unit}/s",
        allowed=f"{allowed} {unit}/s",
        ok=measured >= allowed,
        values={"per_second": measured},
    )


def _again(effort: Effort, folder: Path, files: int) -> Row:
    base = folder / "markdown0.sqlite"
    rates = [files / _cpu(lambda: _ingest(base, folder / "markdown")) for _ in range(min(effort.rounds, 5))]
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


def _cpu(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return max(time.process_time() - started, 1e-6)
