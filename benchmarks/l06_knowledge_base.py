"""L6 and the query side of L12: a knowledge base of 100 000 chunks, searched by words, by vectors and by both."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
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

P95_MS = {"words": 35, "vectors": 30, "both": 60}
MEMORY_MB = 500
TOP_K = 10
FIELDS = {"category": {"type": "string"}}

Ask = Callable[[str], Awaitable[Any]]

_MEMORY = """
import asyncio
from groundgraph import RetrievalIntent
from groundgraph.core.embedder import Embedder
from groundgraph.sources.knowledge_base import KnowledgeBaseSource
from langchain_core.embeddings import FakeEmbeddings
async def main():
    before = peak_mb()
    embedder = Embedder(FakeEmbeddings(size={size}), "made-up")
    source = KnowledgeBaseSource({path!r}, embedder=embedder)
    started = time.perf_counter()
    await source.query(RetrievalIntent(["anything"]))
    result.update(first_ms=(time.perf_counter() - started) * 1000)
    for _ in range(5):
        await source.query(RetrievalIntent([{question!r}]))
    result.update(peak=peak_mb(), before=before)
asyncio.run(main())
"""


def run(effort: Effort) -> list[Row]:
    with TemporaryDirectory() as folder:
        return asyncio.run(_run(effort, Path(folder) / "base.sqlite"))


async def _run(effort: Effort, path: Path) -> list[Row]:
    base = await large_base(path, effort.chunks, effort.questions)
    rows = [await _searches(base, name, effort.chunks) for name in P95_MS]
    rows.append(await _filtered(base, effort.chunks))
    rows.append(_memory(base, effort.chunks))
    return rows


def _source(base: LargeBase, name: str) -> KnowledgeBaseSource:
    weight = {"words": 0.0, "vectors": 1.0, "both": 0.5}[name]
    return KnowledgeBaseSource(base.path, embedder=base.embedder, vector_weight=weight, fields=FIELDS)


async def _searches(base: LargeBase, name: str, chunks: int) -> Row:
    source = _source(base, name)

    async def ask(question: str) -> None:
        if len(await source.query(RetrievalIntent([question]), top_k=TOP_K)) < TOP_K:
            raise AssertionError(f"a question to {chunks} chunks must give {TOP_K} of them")

    times = await _times(base.questions, ask)
    await source.close()
    baseline = _bare_numpy_ms(chunks) if name == "vectors" else None
    p95 = quantiles(times, n=20)[-1]
    return Row(
        "L6",
        f"search of {chunks:,} chunks by {name}, p95 (median {median(times):.1f} ms)",
        f"{p95:.1f} ms",
        f"{baseline:.1f} ms, numpy alone, median" if baseline else "",
        "",
        f"{P95_MS[name]} ms",
        p95 <= P95_MS[name],
        {"p95_ms": p95, "p50_ms": median(times)},
    )


async def _filtered(base: LargeBase, chunks: int) -> Row:
    source = _source(base, "both")
    filters = {source.name: {"category": ["c1", "c2"]}}

    async def ask(question: str) -> None:
        await source.query(RetrievalIntent([question], filters), top_k=TOP_K)

    times = await _times(base.questions, ask)
    await source.close()
    p95 = quantiles(times, n=20)[-1]
    what = f"the same by both, with a filter that keeps {200 / CATEGORIES:.0f} % of {chunks:,} chunks, p95"
    return Row("L6", what, f"{p95:.1f} ms", values={"p95_ms": p95, "p50_ms": median(times)})


async def _times(questions: list[str], ask: Ask) -> list[float]:
    """Milliseconds of each question, after a first pass over some that reads the file and the vectors."""
    for question in questions[:10]:
        await ask(question)
    times = []
    for question in questions:
        started = time.perf_counter()
        await ask(question)
        times.append((time.perf_counter() - started) * 1000)
    return times


def _bare_numpy_ms(chunks: int) -> float:
    generator = np.random.default_rng(1)
    matrix = generator.normal(size=(chunks, DIMENSION)).astype(np.float32)
    query, times = matrix[0], []
    for _ in range(20):
        started = time.perf_counter()
        np.argpartition(-(matrix @ query), TOP_K)[:TOP_K]
        times.append((time.perf_counter() - started) * 1000)
    return median(times)


def _memory(base: LargeBase, chunks: int) -> Row:
    found = run_fresh(_MEMORY.format(path=str(base.path), question=base.questions[0], size=DIMENSION))
    return Row(
        "L6",
        f"peak memory (L12) of a process that searches {chunks:,} chunks by both; its first search took "
        f"{found['first_ms']:.0f} ms",
        f"{found['peak']:.0f} MB",
        f"{found['before']:.0f} MB before it",
        f"+{found['peak'] - found['before']:.0f} MB",
        f"{MEMORY_MB} MB",
        found["peak"] <= MEMORY_MB,
        {"peak_mb": found["peak"], "first_ms": found["first_ms"]},
    )
