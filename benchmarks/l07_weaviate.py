"""L7: a Weaviate collection that somebody else made, searched by words and vectors at once, with a filter.

The baseline is the client library alone, in turns with groundgraph: the two calls that the source makes, with what they
bring, and Weaviate's own hybrid search. It needs the Weaviate server (`scripts/install_services.sh weaviate`).
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.effort import Effort
from benchmarks.large_base import CATEGORIES, MadeUp
from benchmarks.report import Row

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

ALLOWED_MS, ALLOWED_OVERHEAD_MS = 30.0, 2.0
TOP_K, CANDIDATES = 10, 30
KEPT = ["c1", "c2"]
COLLECTION = "Large"
_BATCH = 500
_INDEXED_WITHIN = 3600.0

Ask = Callable[[str], Awaitable[Any]]


def run(effort: Effort) -> list[Row]:
    from weaviate_server import HOW_TO_GET_IT, running, server_binary

    binary = server_binary()
    if binary is None:
        return [Row("L7", f"not measured: {HOW_TO_GET_IT}", "-", allowed=f"{ALLOWED_MS:.0f} ms")]
    with running(binary, QUERY_MAXIMUM_RESULTS="100000") as server:
        return asyncio.run(_run(effort, server))


async def _run(effort: Effort, server: Any) -> list[Row]:
    from weaviate_collections import client

    made = MadeUp(effort.chunks, effort.questions, among=1_000)
    sizes = [size for size in (1_000, 10_000, 100_000) if size < effort.chunks] + [effort.chunks]
    rows: list[Row] = []
    async with client(server) as own:
        collection = await _created(own)
        documents, written = iter(made), 0
        for size in sizes:
            started = time.perf_counter()
            written = await _filled(collection, documents, written, size)
            await _indexed(own)
            seconds = time.perf_counter() - started
            print(f"{size:,} objects after {seconds:.0f} s more", file=sys.stderr, flush=True)
            rows += await _measured(server, collection, made, size, last=size == sizes[-1])
    return rows


async def _created(own: Any) -> Any:
    from weaviate.classes.config import Configure, DataType, Property, Tokenization, VectorDistances

    exact: Any = {"data_type": DataType.TEXT, "tokenization": Tokenization.FIELD}
    index = Configure.VectorIndex.hnsw(distance_metric=VectorDistances.COSINE)
    return await own.collections.create(
        COLLECTION,
        properties=[
            Property(name="text", data_type=DataType.TEXT),
            Property(name="category", **exact),
            Property(name="document", **exact),
        ],
        vector_config=Configure.Vectors.self_provided(vector_index_config=index),
    )


async def _filled(collection: Any, documents: Any, written: int, size: int) -> int:
    from weaviate.classes.data import DataObject

    batch: list[Any] = []
    while written < size:
        prepared = next(documents)
        for chunk in prepared.chunks:
            values = {
                "text": chunk.chunk.text,
                "category": prepared.document.metadata["category"],
                "document": prepared.document.name,
            }
            batch.append(DataObject(properties=values, vector={"default": chunk.vectors[0].tolist()}))
        written += len(prepared.chunks)
        if len(batch) >= _BATCH or written >= size:
            done = await collection.data.insert_many(batch)
            if done.has_errors:
                raise AssertionError(done.errors)
            batch = []
    return written


async def _indexed(own: Any) -> None:
    """Wait until no vector waits to be indexed."""
    ends_at = time.monotonic() + _INDEXED_WITHIN
    empty = 0
    while empty < 3:
        nodes = await own.cluster.nodes(collection=COLLECTION, output="verbose")
        waiting = sum(shard.vector_queue_length for node in nodes for shard in node.shards or [])
        empty = 0 if waiting else empty + 1
        if time.monotonic() > ends_at:
            raise AssertionError(f"{waiting} vectors still wait to be indexed")
        await asyncio.sleep(0.5)


@dataclass(frozen=True)
class _Times:
    """Milliseconds per question, in the same order for all subjects."""

    of: Mapping[str, list[float]]

    def median(self, name: str) -> float:
        return median(self.of[name])

    def more(self, name: str, baseline: str) -> float:
        return median(own - base for own, base in zip(self.of[name], self.of[baseline], strict=True))


async def _measured(server: Any, collection: Any, made: MadeUp, size: int, *, last: bool) -> list[Row]:
    from weaviate_collections import address

    from groundgraph import RetrievalIntent
    from groundgraph.sources.weaviate import WeaviateSource

    source = WeaviateSource(
        COLLECTION,
        name="large",
        address=address(server),
        mapping={"text": "text", "document": "document"},
        fields={"category": {"type": "string"}},
        embedder=made.embedder,
        candidates=CANDIDATES,
    )
    filters = {"large": {"category": KEPT}}

    async def ours(question: str) -> None:
        await source.query(RetrievalIntent([question], filters), top_k=TOP_K)

    subjects = {"ours": ours, **_bare(collection, made)}
    questions = list(made.asked)
    warm = min(10, len(questions) // 2)
    await _timed(subjects, questions[:warm])
    new = await _timed(subjects, questions[warm:])
    known = await _timed(subjects, questions[warm:])
    await source.close()
    rows = [_row(known, size, "question words seen before", last=last)]
    return [*rows, _row(new, size, "new question words, whose frequencies are counted", last=False)] if last else rows


def _bare(collection: Any, made: MadeUp) -> dict[str, Ask]:
    from weaviate.classes.query import Filter, MetadataQuery

    from groundgraph.sources.weaviate.search import terms_of

    kept = Filter.by_property("category").contains_any(KEPT)
    brought = ["text", "document", "category"]

    async def two_calls(question: str) -> None:
        vector = made.asked[question].tolist()
        await asyncio.gather(
            collection.query.bm25(
                terms_of(question, stored_stems=False).query(),
                query_properties=["text"],
                limit=CANDIDATES,
                filters=kept,
                include_vector=["default"],
                return_properties=brought,
                return_metadata=MetadataQuery(score=True),
            ),
            collection.query.near_vector(
                vector,
                limit=CANDIDATES,
                filters=kept,
                return_properties=brought,
                return_metadata=MetadataQuery(distance=True),
            ),
        )

    async def hybrid(question: str) -> None:
        vector = made.asked[question].tolist()
        found = await collection.query.hybrid(
            question,
            vector=vector,
            alpha=0.5,
            limit=TOP_K,
            filters=kept,
            return_properties=brought,
            return_metadata=MetadataQuery(score=True),
        )
        if not found.objects:
            raise AssertionError("a question must find something")

    return {"two calls": two_calls, "hybrid": hybrid}


async def _timed(subjects: Mapping[str, Ask], questions: list[str]) -> _Times:
    """Each question to every subject, in another order each time."""
    times: dict[str, list[float]] = {name: [] for name in subjects}
    names = list(subjects)
    for number, question in enumerate(questions):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            started = time.perf_counter()
            await subjects[name](question)
            times[name].append((time.perf_counter() - started) * 1000)
    return _Times(times)


def _row(times: _Times, size: int, what: str, *, last: bool) -> Row:
    ours, overhead = times.median("ours"), times.more("ours", "two calls")
    beside = times.more("ours", "hybrid")
    return Row(
        "L7",
        f"{size:,} objects, hybrid, a filter that keeps {200 / CATEGORIES:.0f} %, median; {what}",
        f"{ours:.1f} ms",
        f"{times.median('two calls'):.1f} ms, the two calls alone; {times.median('hybrid'):.1f} ms, Weaviate's hybrid",
        f"{overhead:+.1f} ms; {beside:+.1f} ms",
        f"{ALLOWED_MS:.0f} ms; +{ALLOWED_OVERHEAD_MS:.0f} ms" if last else "",
        ours <= ALLOWED_MS and overhead <= ALLOWED_OVERHEAD_MS if last else None,
        {"ms": ours, "overhead_ms": overhead, "beside_hybrid_ms": beside, "objects": size},
    )
