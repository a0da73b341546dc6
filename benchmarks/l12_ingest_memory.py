"""L12: memory while ingesting does not grow with the input. By hand: `python -m benchmarks.l12_ingest_memory 1000`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.effort import QUICK, Effort
from benchmarks.fresh_process import run_fresh
from benchmarks.report import Row, show

MEMORY_MB = 500
GROWTH = 1.15
SIZES = (16, 64)

_INGEST = """
import asyncio, random
from pathlib import Path
from benchmarks.corpus import passage, topic
from groundgraph.core.document import Document
from groundgraph.graph.ingest import ingest_documents

def documents(total):
    random_ = random.Random(1)
    pool = [passage(random_, topic(number), 200, 500) for number in range(2000)]
    written, number = 0, 0
    while written < total:
        text = "\\n\\n".join(f"Number {{number}}. {{random_.choice(pool)}}" for _ in range(150))
        yield Document(f"d{{number}}", text)
        written, number = written + len(text), number + 1

before = peak_mb()
report = asyncio.run(ingest_documents(Path({path!r}), documents({megabytes} * 1_000_000)))
result.update(before=before, peak=peak_mb(), chunks=report.chunks, seconds=report.seconds, failed=len(report.failed))
"""


def run(effort: Effort) -> list[Row]:
    sizes = (1, 4) if effort == QUICK else SIZES
    peaks = {size: _measured(size) for size in sizes}
    small, large = (peaks[size]["peak"] for size in sizes)
    rows = [_row(size, found) for size, found in peaks.items()]
    growth = Row(
        "L12",
        f"peak memory of an ingest, {sizes[1]} MB of text over {sizes[0]} MB",
        f"{large / small:.2f} times",
        allowed=f"does not grow: {GROWTH} times",
        ok=large / small <= GROWTH,
        values={"growth": large / small},
    )
    return [*rows, growth]


def _measured(megabytes: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        return run_fresh(_INGEST.format(path=str(Path(folder) / "base.sqlite"), megabytes=megabytes))


def _row(megabytes: int, found: dict[str, float]) -> Row:
    return Row(
        "L12",
        f"peak memory of an ingest of {megabytes} MB of text, {found['chunks']:.0f} chunks",
        f"{found['peak']:.0f} MB",
        f"{found['before']:.0f} MB before it began",
        f"+{found['peak'] - found['before']:.0f} MB",
        f"{MEMORY_MB} MB",
        found["peak"] < MEMORY_MB,
        {"peak_mb": found["peak"], "seconds": found["seconds"]},
    )


if __name__ == "__main__":
    show([_row(size, _measured(size)) for size in map(int, sys.argv[1:] or ["1000"])])
