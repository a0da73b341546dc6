"""L6 and the query side of L12: a knowledge base searched by words, by vectors and by both; p95 of CPU.

Of 100 000 chunks; `python -m benchmarks L6-million` is the same with a million.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.effort import Effort
from benchmarks.fresh_process import run_fresh
from benchmarks.large_base import CATEGORIES, DIMENSION, LargeBase, large_base
from benchmarks.report import Row
from groundgraph import RetrievalIntent
from groundgraph.sources.knowledge_base import KnowledgeBaseSource

P95_MS = {"words": 3, "vectors": 3, "both": 7}
ANONYMOUS_MB, FIRST_MS = 200, 1_000
TOP_K = 10
# What numpy alone is timed over: a million would take two gigabytes of memory.
_NUMPY_ROWS = 100_000
FIELDS = {"category": {"type": "string"}}

Ask = Callable[[str], Awaitable[Any]]

_MEMORY = """
import asyncio, os
from pathlib import Path
from groundgraph import RetrievalIntent
from groundgraph.core.embedder import Embedder
from groundgraph.sources.knowledge_base import KnowledgeBaseSource
from langchain_core.embeddings import FakeEmbeddings
def anonymous_mb():
    for line in open("/proc/self/status"):
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1024
async def main():
    for path in Path({path!r}).parent.rglob("*"):
        if path.is_file():
            with path.open("rb") as file:
                # A cold start: what the system keeps of the files is given up.
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    before = anonymous_mb()
    embedder = Embedder(FakeEmbeddings(size={size}), "made-up")
    source = KnowledgeBaseSource({path!r}, embedder=embedder)
    started = time.perf_counter()
    await source.query(RetrievalIntent([{question!r}]))
    result.update(first_ms=(time.perf_counter() - started) * 1000)
    for _ in range(5):
        await source.query(RetrievalIntent([{question!r}]))
    result.update(after=anonymous_mb(), before=before)
asyncio.run(main())
"""


def run(effort: Effort) -> list[Row]:
    with TemporaryDirectory() as folder:
        return asyncio.run(measured(Path(folder) / "base.sqlite", effort.chunks, effort.questions, P95_MS))


async def measured(
    path: Path, chunks: int, questions: int, limits: Mapping[str, float], filtered_ms: float | None = None
) -> list[Row]:
    """The rows of a base of so many chunks; `limits` in milliseconds."""
    started = time.perf_counter()
    base = await large_base(path, chunks, questions)
    built = Row("L6", f"writing {chunks:,} chunks with vectors", f"{time.perf_counter() - started:.0f} s")
    # First, while no process has any of it in memory.
    rows = [_cold(base, chunks), *[await _searches(base, name, chunks, limit) for name, limit in limits.items()]]
    return [*rows, await _filtered(base, chunks, filtered_ms), built]


def _source(base: LargeBase, name: str) -> KnowledgeBaseSource:
    weight = {"words": 0.0, "vectors": 1.0, "both": 0.5}[name]
    return KnowledgeBaseSource(base.path, embedder=base.embedder, vector_weight=weight, fields=FIELDS)


async def _searches(base: LargeBase, name: str, chunks: int, limit: float) -> Row:
    source = _source(base, name)

    async def ask(question: str) -> None:
        if len(await source.query(RetrievalIntent([question]), top_k=TOP_K)) < TOP_K:
            raise AssertionError(f"a question to {chunks} chunks must give {TOP_K} of them")

    times = await _times(base.questions, ask)
    await source.close()
    baseline = _bare_numpy_ms(min(chunks, _NUMPY_ROWS)) if name == "vectors" else None
    p95 = quantiles(times, n=20)[-1]
    return Row(
        "L6",
        f"search of {chunks:,} chunks by {name}, p95 of CPU (median {median(times):.1f} ms)",
        f"{p95:.1f} ms",
        f"{baseline:.1f} ms, numpy over {min(chunks, _NUMPY_ROWS):,} in memory, median" if baseline else "",
        "",
        f"{limit} ms",
        p95 <= limit,
        {"p95_ms": p95, "p50_ms": median(times)},
    )


async def _filtered(base: LargeBase, chunks: int, limit: float | None) -> Row:
    source = _source(base, "both")
    filters = {source.name: {"category": ["c1", "c2"]}}

    async def ask(question: str) -> None:
        await source.query(RetrievalIntent([question], filters), top_k=TOP_K)

    times = await _times(base.questions, ask)
    await source.close()
    p95 = quantiles(times, n=20)[-1]
    what = f"the same by both, with a filter that keeps {200 / CATEGORIES:.0f} % of {chunks:,} chunks, p95 of CPU"
    allowed, ok = (f"{limit} ms", p95 <= limit) if limit else ("", None)
    values: dict[str, float | str] = {"p95_ms": p95, "p50_ms": median(times)}
    return Row("L6", what, f"{p95:.1f} ms", allowed=allowed, ok=ok, values=values)


async def _times(questions: list[str], ask: Ask) -> list[float]:
    """Milliseconds of CPU of each question, after a first pass over some that reads the file and the vectors."""
    for question in questions[:10]:
        await ask(question)
    times = []
    for question in questions:
        started = time.process_time()
        await ask(question)
        times.append((time.process_time() - started) * 1000)
    return times


def _bare_numpy_ms(chunks: int) -> float:
    generator = np.random.default_rng(1)
    matrix = generator.normal(size=(chunks, DIMENSION)).astype(np.float32)
    query, times = matrix[0], []
    for _ in range(20):
        started = time.process_time()
        np.argpartition(-(matrix @ query), TOP_K)[:TOP_K]
        times.append((time.process_time() - started) * 1000)
    return median(times)


def _cold(base: LargeBase, chunks: int) -> Row:
    found = run_fresh(_MEMORY.format(path=str(base.path), question=base.questions[0], size=DIMENSION))
    return Row(
        "L6",
        f"a process that begins to search {chunks:,} chunks by both: its first search, and its anonymous memory (L12)",
        f"{found['first_ms']:.0f} ms; {found['after']:.0f} MB",
        f"{found['before']:.0f} MB before it",
        f"+{found['after'] - found['before']:.0f} MB",
        f"{FIRST_MS} ms; {ANONYMOUS_MB} MB",
        found["after"] <= ANONYMOUS_MB and found["first_ms"] <= FIRST_MS,
        {"anonymous_mb": found["after"], "first_ms": found["first_ms"]},
    )
