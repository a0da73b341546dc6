"""Does what a topic index works with keep the contract of `groundgraph.search.topics.TopicStore`?

::

    (await check_topics(source.topic_store(), question="...", filters={"audience": "staff"})).raise_for_failures()
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from groundgraph.core.evidence import SourceResult
from groundgraph.core.filters import matches
from groundgraph.search.topics import PassageVectors, TopicStore
from groundgraph.sources.conformance import AT_ONCE, Check, ConformanceReport, DoesNotApply, outcomes, require

NOWHERE = "groundgraph-conformance-no-such-passage"
_LENGTH_MAY_DIFFER = 0.01


@dataclass
class _Read:
    """A store, a question that it answers, and conditions that keep some of its passages."""

    store: TopicStore
    question: str
    filters: Mapping[str, Any]

    async def ids(self) -> list[str]:
        return [place.id for place in (await self.store.outline()).places]

    async def seeds(
        self, limit: int, filters: Mapping[str, Any] | None = None, *, by_vector: bool = False
    ) -> Sequence[SourceResult]:
        return await self.store.seeds(self.question, limit=limit, filters=filters or {}, by_vector=by_vector)


async def _outline(read: _Read) -> None:
    places = (await read.store.outline()).places
    ids = [place.id for place in places]
    require(len(ids) >= 2, f"the outline has {len(ids)} passages; the kit needs at least two")
    require(len(set(ids)) == len(ids), "the outline has more than one passage of one id")
    documents = [document for document, _ in groupby(places, key=lambda place: place.document)]
    require(len(set(documents)) == len(documents), f"passages of one document stand apart: {documents}")
    for place in places:
        titles = place.headings
        legal = isinstance(titles, tuple) and all(isinstance(title, str) and title.strip() for title in titles)
        require(legal, f"the headings of {place.id!r} are {titles!r}, not a tuple of titles")


async def _revision(read: _Read) -> None:
    first = (await read.store.outline()).revision
    now = await read.store.revision()
    require(first == now, f"the outline is of the revision {first!r}, the store says {now!r}, and nothing changed")


async def _at_once(read: _Read) -> None:
    outlines = await asyncio.gather(*(read.store.outline() for _ in range(AT_ONCE)))
    places = [list(outline.places) for outline in outlines]
    require(all(one == places[0] for one in places), f"{AT_ONCE} outlines that are read at once differ")


async def _passages(read: _Read) -> None:
    ids = await read.ids()
    given = await read.store.passages([*ids, NOWHERE], {})
    require(set(given) == set(ids), f"passages() gives other ids than the outline: {sorted(set(given) ^ set(ids))}")
    wrong = [name for name, result in given.items() if result.source_id != name or not result.content.strip()]
    require(not wrong, f"under these ids stand other passages, or empty ones: {wrong}")
    require(await read.store.passages([], {}) == {}, "of no ids there are passages")


async def _kept(read: _Read) -> None:
    ids = set(await read.ids())
    everything, kept = await read.store.kept({}), await read.store.kept(read.filters)
    require(set(everything) == ids, f"without filters there are {len(everything)} of {len(ids)} passages kept")
    require(bool(kept) and kept < ids, f"{dict(read.filters)} keeps {len(kept)} of {len(ids)} passages; pass others")
    passages = await read.store.passages(sorted(ids), {})
    wanted = {name for name, result in passages.items() if matches(read.filters, result.metadata)}
    require(set(kept) == wanted, f"{dict(read.filters)} keeps {sorted(kept)}, and should keep {sorted(wanted)}")


async def _passages_filtered(read: _Read) -> None:
    given = await read.store.passages(await read.ids(), read.filters)
    kept = await read.store.kept(read.filters)
    escaped = sorted(set(given) - kept)
    require(not escaped, f"asked for by their ids, passages come that {dict(read.filters)} excludes: {escaped}")
    require(set(given) == kept, f"{dict(read.filters)} keeps {sorted(kept)}, and passages() gives {sorted(given)}")


async def _seeds(read: _Read) -> None:
    await _seeds_hold(read, by_vector=False)


async def _seeds_by_vector(read: _Read) -> None:
    if not read.store.embeds:
        raise DoesNotApply("the store embeds no questions")
    await _seeds_hold(read, by_vector=True)


async def _seeds_hold(read: _Read, *, by_vector: bool) -> None:
    ids = await read.ids()
    found = [one.source_id for one in await read.seeds(len(ids), by_vector=by_vector)]
    require(bool(found), f"{read.question!r} has no seeds; pass a question that has some")
    require(len(set(found)) == len(found), "a passage comes twice among the seeds")
    require(set(found) <= set(ids), f"seeds that no outline has: {sorted(set(found) - set(ids))}")
    best = [one.source_id for one in await read.seeds(1, by_vector=by_vector)]
    require(best == found[:1], f"limit=1 gives {best}, and more begin with {found[:1]}")
    filtered = {one.source_id for one in await read.seeds(len(ids), read.filters, by_vector=by_vector)}
    escaped = sorted(filtered - await read.store.kept(read.filters))
    require(not escaped, f"seeds that {dict(read.filters)} excludes: {escaped}")


async def _vectors(read: _Read) -> None:
    vectors = await _stored_vectors(read)
    require(set(vectors.ids) <= set(await read.ids()), "there are vectors of passages that no outline has")
    require(len(set(vectors.ids)) == len(vectors.ids), "a passage has more than one row of vectors")
    rows = vectors.rows
    legal = rows.ndim == 2 and len(rows) == len(vectors.ids) and str(rows.dtype) == "float32"
    require(legal, f"the vectors are {rows.dtype} of the shape {rows.shape}, for {len(vectors.ids)} passages")
    lengths = [float(row @ row) ** 0.5 for row in rows]
    off = [length for length in lengths if abs(length - 1) > _LENGTH_MAY_DIFFER]
    require(not off, f"vectors have the lengths {off[:3]}, not 1")


async def _question_vector(read: _Read) -> None:
    vector = await read.store.question_vector(read.question)
    if not read.store.embeds:
        require(vector is None, "a store that embeds no questions gives a vector of one")
        return
    require(vector is not None and str(vector.dtype) == "float32" and vector.ndim == 1, f"the vector is {vector!r}")
    length = float(vector @ vector) ** 0.5
    require(abs(length - 1) <= _LENGTH_MAY_DIFFER, f"the vector of the question has the length {length}")
    vectors = await _stored_vectors(read)
    require(vectors.rows.shape[1] == len(vector), f"{len(vector)} numbers, but {vectors.rows.shape[1]} of passages")


async def _stored_vectors(read: _Read) -> PassageVectors:
    vectors = await read.store.vectors()
    if vectors is None:
        raise DoesNotApply("the store holds no vectors")
    return vectors


CHECKS: dict[str, Check[_Read]] = {
    "outline": _outline,
    "revision": _revision,
    "at_once": _at_once,
    "passages": _passages,
    "kept": _kept,
    "passages_filtered": _passages_filtered,
    "seeds": _seeds,
    "seeds_by_vector": _seeds_by_vector,
    "vectors": _vectors,
    "question_vector": _question_vector,
}


async def check_topics(
    store: TopicStore, *, question: str, filters: Mapping[str, Any], timeout: float = 30.0
) -> ConformanceReport:
    """Make every check on `store`; of one that keeps tenants apart, pass the `part` of a tenant.

    Args:
        store: must not change meanwhile, and have at least two passages.
        question: finds at least one of them.
        filters: conditions on declared fields that keep some of the passages and not all.
        timeout: the longest that one check may take, in seconds.
    """
    read = _Read(store, question, filters)
    return ConformanceReport(type(store).__name__, await outcomes(CHECKS, read, timeout), "topic store")
