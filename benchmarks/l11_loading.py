"""L11: how fast documents are read and cut, without a model and before anything is written."""

from __future__ import annotations

import csv
import json
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.corpus import passage, records, topic
from benchmarks.effort import Effort
from benchmarks.report import Row
from groundgraph.ingest.chunkers import HeadingChunker
from groundgraph.ingest.load_document import load_document, read_document
from groundgraph.ingest.readers import Readers
from groundgraph.settings.knowledge_base import ReaderSettings

# Units of a document per repetition of a turn that the effort allows.
SECTIONS, PAGES, RECORDS = 100, 4, 500
SCALING = 1.8


def run(effort: Effort) -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sections, pages, count = SECTIONS * effort.turns, PAGES * effort.turns, RECORDS * effort.turns
        table = records("table", range(count // 10))
        markdown, text = _markdown(folder / "a.md", sections), _plain(folder / "a.txt", sections)
        pdf = _pdf(folder / "a.pdf", pages)
        return [
            _row(effort, markdown, "Markdown", "MB", markdown.stat().st_size / 1e6),
            _row(effort, text, "plain text", "MB", text.stat().st_size / 1e6),
            _row(effort, pdf, "PDF", "pages", pages, lambda: _bare(pdf)),
            _row(effort, _csv(folder / "a.csv", table), "CSV", "records", len(table)),
            _row(effort, _jsonl(folder / "a.jsonl", table), "JSONL", "records", len(table)),
            _row(effort, _xlsx(folder / "a.xlsx", table), "XLSX", "records", len(table)),
            _scaling(effort, folder),
        ]


def _row(effort: Effort, path: Path, kind: str, unit: str, count: float, bare: Callable[[], Any] | None = None) -> Row:
    own, base = [], []
    for _ in range(effort.rounds):
        own.append(count / _cpu(lambda: HeadingChunker()(load_document(path, path.name))))
        if bare:
            base.append(count / _cpu(bare))
    measured = median(own)
    return Row(
        "L11",
        f"{kind}: {unit} loaded and chunked per second of CPU, which is not the whole of an ingest",
        rate(measured, unit),
        f"{median(base):.0f} {unit}/s, pypdfium2 alone" if bare else "",
        f"{median(one / other for one, other in zip(own, base, strict=True)):.2f} times" if bare else "",
        values={"per_second": measured, **({"bare_per_second": median(base)} if bare else {})},
    )


def rate(measured: float, unit: str) -> str:
    return f"{measured:.{2 if unit == 'MB' else 0}f} {unit}/s"


def _scaling(effort: Effort, folder: Path) -> Row:
    """Wall time of reading PDFs in one process and in two, which are running already."""
    paths = [_pdf(folder / f"{number}.pdf", PAGES * effort.turns // 4) for number in range(8)]
    gains = []
    for _ in range(effort.rounds):
        one, two = (_wall(paths, size) for size in (1, 2))
        gains.append(one / two)
    gain = median(gains)
    return Row(
        "L11",
        "PDFs read in two processes, by wall time over one",
        f"{gain:.2f} times",
        allowed="1.8 times",
        ok=gain >= SCALING,
        values={"gain": gain},
    )


def _wall(paths: Sequence[Path], size: int) -> float:
    readers = Readers(ReaderSettings(), size)
    with closing(readers), ThreadPoolExecutor(size) as threads:

        def read(path: Path) -> object:
            return readers.call(read_document, path, path.name)

        list(threads.map(read, paths[:size]))
        started = time.perf_counter()
        list(threads.map(read, paths))
        return time.perf_counter() - started


def _cpu(work: Callable[[], Any]) -> float:
    started = time.process_time()
    work()
    return max(time.process_time() - started, 1e-6)


def _markdown(path: Path, count: int) -> Path:
    random_ = random.Random(1)
    sections = (f"## {topic(number)}\n\n{_paragraphs(random_, number)}\n\n" for number in range(count))
    path.write_text("# Manual\n\n" + "".join(sections))
    return path


def _plain(path: Path, count: int) -> Path:
    random_ = random.Random(2)
    numbers = (f"{number // 90 + 1}.{number % 90 + 1}.  {topic(number).title()}" for number in range(count))
    path.write_text("".join(f"{title}\n\n{_paragraphs(random_, place)}\n\n" for place, title in enumerate(numbers)))
    return path


def _paragraphs(random_: random.Random, number: int) -> str:
    return "\n\n".join(passage(random_, topic(number), 200, 500) for _ in range(2))


def _pdf(path: Path, count: int) -> Path:
    from reportlab.pdfgen.canvas import Canvas

    random_ = random.Random(3)
    canvas = Canvas(str(path))
    for number in range(count):
        words = " ".join(passage(random_, topic(number), 200, 500) for _ in range(9)).split()
        for place in range(0, len(words), 12):
            canvas.drawString(40, 800 - place, " ".join(words[place : place + 12]))
        canvas.showPage()
    canvas.save()
    return path


def _bare(path: Path) -> None:
    import pypdfium2

    pdf = pypdfium2.PdfDocument(path)
    for page in pdf:
        text_page = page.get_textpage()
        text_page.get_text_bounded()
        text_page.close()
        page.close()
    pdf.close()


def _csv(path: Path, table: Sequence[dict[str, Any]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, table[0])
        writer.writeheader()
        writer.writerows(table)
    return path


def _jsonl(path: Path, table: Sequence[dict[str, Any]]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in table))
    return path


def _xlsx(path: Path, table: Sequence[dict[str, Any]]) -> Path:
    import openpyxl

    workbook = openpyxl.Workbook(write_only=True)
    sheet = workbook.create_sheet("records")
    for row in (table[0], *(row.values() for row in table)):
        sheet.append(list(row))
    workbook.save(path)
    return path
