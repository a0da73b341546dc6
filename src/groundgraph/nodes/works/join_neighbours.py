"""Neighbouring chunks of one document become one piece of evidence."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from groundgraph.core.evidence import EvidenceRecord, Hit, evidence_key
from groundgraph.core.failure import tell_failure
from groundgraph.nodes.process_results import Change, View, Work, WorkParts, hits_of, ref_of
from groundgraph.resilience.bounds import within
from groundgraph.sources.contract import GroundedSource
from groundgraph.text.original import FILE_LINE

# Neighbouring chunks under one heading as one piece of evidence, in the order of the document.

Pair = tuple[str, str]
# What a joined piece has of its own. Everything else is the same in all of its chunks, so that it stays true of the
# whole: the pages of a document and the rows of a table are not joined.
_OWN = ("position", "start", "end")
# What is said about one chunk and may differ.
_OF_ONE = ("qualifying_text",)
# What is that of the first chunk.
_OF_FIRST = (FILE_LINE,)


@dataclass(frozen=True)
class Place:
    """Where a chunk stands: `within` names source, document, heading path and whatever else belongs to all of its
    neighbours; offsets as in its metadata."""

    within: str
    position: int
    start: int
    end: int


@dataclass(frozen=True)
class Joined:
    """A ranking in which neighbours stand together.

    Attributes:
        hits: the ranking; a joined piece stands where its best chunk stood, with the best relevance and score.
        records: the joined pieces by their keys.
        parts: the keys of the chunks of each joined piece, in the order of the document.
    """

    hits: list[Hit]
    records: dict[str, EvidenceRecord]
    parts: dict[str, list[str]]


def place_of(record: EvidenceRecord) -> Place | None:
    """Where the chunk stands; None when it does not say, or its text cannot be the stretch that it names."""
    metadata = record["metadata"]
    position, start, end = (metadata.get(name) for name in _OWN)
    numbers = [number for number in (position, start, end) if type(number) is int]
    if len(numbers) < 3 or metadata.get("derived") or not metadata.get("document"):
        return None
    if len(record["content"]) != numbers[2] - numbers[1]:
        return None
    shared = {name: value for name, value in metadata.items() if name not in (*_OWN, *_OF_ONE, *_OF_FIRST)}
    return Place(json.dumps([record["source_name"], shared], sort_keys=True), *numbers)


def neighbours(hits: Sequence[Hit], records: Mapping[str, EvidenceRecord]) -> list[list[Hit]]:
    """The runs of at least two hits whose chunks follow each other in one document under one heading path.

    A chunk that stands twice in the ranking is taken where it stands first.
    """
    at: dict[tuple[str, int], tuple[Place, Hit]] = {}
    for hit in hits:
        place = place_of(records[hit.key])
        if place is not None:
            at.setdefault((place.within, place.position), (place, hit))
    runs: list[list[Hit]] = []
    before: Place | None = None
    for place, hit in sorted(at.values(), key=lambda pair: (pair[0].within, pair[0].position)):
        if before and before.within == place.within and before.position + 1 == place.position and runs:
            runs[-1].append(hit)
        else:
            runs.append([hit])
        before = place
    return [run for run in runs if len(run) > 1]


def pairs(runs: Sequence[Sequence[Hit]]) -> list[tuple[Hit, Hit]]:
    """The direct neighbours of all runs."""
    return [pair for run in runs for pair in pairwise(run)]


def join(hits: Sequence[Hit], records: Mapping[str, EvidenceRecord], between: Mapping[Pair, str | None]) -> Joined:
    """The ranking with neighbours joined wherever the original has nothing but white space between them.

    A joined text is the stretch of the original from the first chunk's start to the last one's end, character by
    character, so that offsets into it stay right.

    Args:
        hits: best first.
        records: by key.
        between: by the keys of two direct neighbours, the text of the original between them; None for not known.
    """
    made = Joined([], {}, {})
    stands_for: dict[str, Hit] = {}
    for run in neighbours(hits, records):
        for stretch in _stretches(run, records, between):
            record = _record([records[hit.key] for hit in stretch], [between[pair] or "" for pair in _keys(stretch)])
            whole = _whole(stretch, record)
            made.records[whole.key] = record
            made.parts[whole.key] = [hit.key for hit in stretch]
            stands_for |= {hit.key: whole for hit in stretch}
    standing: set[str] = set()
    for hit in hits:
        whole = stands_for.get(hit.key, hit)
        if whole.key not in standing:
            made.hits.append(whole)
        standing |= {whole.key} & made.records.keys()
    return made


def _whole(stretch: Sequence[Hit], record: EvidenceRecord) -> Hit:
    """The hit that stands for those of a stretch, as good as the best of them."""
    relevance, score = max(hit.relevance for hit in stretch), max(hit.score for hit in stretch)
    return Hit(evidence_key(record), record["source_name"], record["source_id"], relevance, score)


def _stretches(
    run: Sequence[Hit], records: Mapping[str, EvidenceRecord], between: Mapping[Pair, str | None]
) -> list[list[Hit]]:
    stretches = [[run[0]]]
    for pair, hit in zip(_keys(run), run[1:], strict=True):
        if _is_gap(between.get(pair), *(place_of(records[key]) for key in pair)):
            stretches[-1].append(hit)
        else:
            stretches.append([hit])
    return [stretch for stretch in stretches if len(stretch) > 1]


def _keys(run: Sequence[Hit]) -> list[Pair]:
    return [(one.key, other.key) for one, other in pairwise(run)]


def _is_gap(text: str | None, one: Place | None, other: Place | None) -> bool:
    if text is None or one is None or other is None:
        return False
    return len(text) == other.start - one.end and (not text or text.isspace())


def _record(chunks: Sequence[EvidenceRecord], gaps: Sequence[str]) -> EvidenceRecord:
    first, last = chunks[0], chunks[-1]
    shared = {name: value for name, value in first["metadata"].items() if name not in _OF_ONE}
    place = {
        "position": first["metadata"]["position"],
        "start": first["metadata"]["start"],
        "end": last["metadata"]["end"],
        "joined": [chunk["source_id"] for chunk in chunks],
    }
    content = chunks[0]["content"] + "".join(
        gap + chunk["content"] for gap, chunk in zip(gaps, chunks[1:], strict=True)
    )
    joined: EvidenceRecord = {
        "content": content,
        "source_id": f"{first['source_id']}..{last['source_id'].rpartition('#')[2]}",
        "source_name": first["source_name"],
        "source_type": first["source_type"],
        "metadata": {**shared, **place},
    }
    if "scope" in first:
        joined["scope"] = first["scope"]
    return joined


def join_neighbours(parts: WorkParts) -> Work:
    """The work. A source that cannot tell in time what stands between its chunks leaves them apart."""

    async def join_neighbours(view: View) -> Change:
        records = await view.records()
        hits = hits_of(view.refs, records)
        wanted = pairs(neighbours(hits, records))
        between, failed = await _between(wanted, parts.sources, parts.settings.deadlines.source)
        joined = join(hits, records, between)
        ran = {"joined": len(joined.parts), **({"failed": failed} if failed else {})}
        return Change(
            [ref_of(hit) for hit in joined.hits],
            {"merge_adjacent": ran},
            ranking={**view.ranking, "joined": joined.parts},
            records=joined.records,
            told=ran,
            why="joined",
        )

    return join_neighbours


async def _between(
    wanted: Sequence[tuple[Hit, Hit]], sources: Mapping[str, GroundedSource], limit: float
) -> tuple[dict[Pair, str | None], dict[str, str]]:
    """What stands between two chunks, by their keys; and by source, why it could not tell."""
    between: dict[Pair, str | None] = {}
    failed: dict[str, str] = {}
    for name in dict.fromkeys(one.source_name for one, _ in wanted):
        own = [(one, other) for one, other in wanted if one.source_name == name]
        try:
            told = await within(limit, sources[name].texts_between([(a.source_id, b.source_id) for a, b in own]))
        except Exception as error:  # whatever a source raises: its chunks are good evidence apart as well
            failed[name] = tell_failure(error, "source", name).text
            continue
        between |= {(a.key, b.key): text for (a, b), text in zip(own, told, strict=False)}
    return between, failed
