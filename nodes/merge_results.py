"""One ranking out of what the sources gave; a piece of evidence gets its label by its place in it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from groundgraph.chains.merge import STRATEGIES, Hit, concatenate, fuse_queries, times_found
from groundgraph.core.context import Context, Options, options_in_force
from groundgraph.core.evidence import EvidenceRecord
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.intent import IntentState
from groundgraph.core.settings import Settings
from groundgraph.core.turn_outcome import absence_outcome, asked_style
from groundgraph.core.turn_values import Ranking, Ref, Retrieval, Turn
from groundgraph.nodes.node import Node


class MergeResultsInput(TypedDict, total=False):
    """What the step reads."""

    metadata: dict[str, Any]
    turn: Turn
    intent: IntentState
    retrievals: dict[str, Retrieval]
    bodies: dict[str, EvidenceRecord]


class MergeResultsUpdate(TypedDict):
    """What the step writes."""

    ranking: Ranking


def merge_results(
    settings: Settings, source_names: Sequence[str], evidence: EvidenceStore, *, has_model: bool
) -> Node[MergeResultsInput, MergeResultsUpdate]:
    """The node; sources take turns in the order of `source_names`."""
    weights = {entry.name: entry.weight for entry in settings.sources}
    merge = STRATEGIES[settings.retrieval.merge]
    join = fuse_queries if settings.retrieval.deduplicate else concatenate

    async def merge_results(state: MergeResultsInput, runtime: Runtime[Context]) -> MergeResultsUpdate:
        started = time.perf_counter()
        options = options_in_force(settings, state["turn"]["options"], runtime.context)
        lists = _lists_by_source(state["retrievals"], source_names)
        keys = [ref[0] for refs in lists.values() for one in refs for ref in one]
        records = await evidence.load(runtime.store, keys, state.get("bodies"))
        hits = {name: [_hits(refs, records) for refs in found] for name, found in lists.items()}
        by_source = {name: join(found) for name, found in hits.items()}
        merged = merge(by_source, weights)
        again = times_found(hits.values())
        runtime.stream_writer({"stage": "merge_results", "results": len(merged)})
        return {
            "ranking": {
                "refs": [_ref(hit) for hit in merged],
                "by_source": {name: [_ref(hit) for hit in found] for name, found in by_source.items()},
                "total": len(keys),
                "found_again": again,
                "strategy": settings.retrieval.merge,
                "style": _style(state, options, found=bool(merged), has_model=has_model),
                "elapsed_ms": round((time.perf_counter() - started) * 1000, 3),
            },
        }

    return merge_results


def _style(state: MergeResultsInput, options: Options, *, found: bool, has_model: bool) -> str | None:
    """The style that writes the answer.

    Without evidence none does, unless a model may answer from general knowledge and it is certain that the sources do
    not cover the question.
    """
    if found:
        return asked_style(state["intent"], state.get("metadata", {}), options)
    may_invent = has_model and options.allow_parametric is True
    uncovered = absence_outcome(state["retrievals"].values()) == "insufficient"
    return "conversational" if may_invent and uncovered else None


def _lists_by_source(retrievals: Mapping[str, Retrieval], source_names: Sequence[str]) -> dict[str, list[list[Ref]]]:
    """Each source's lists in the order of its queries; tasks end in any order."""
    lists: dict[str, list[list[Ref]]] = {name: [] for name in source_names}
    for task in sorted(retrievals, key=_query_number):
        retrieval = retrievals[task]
        if retrieval.get("refs"):
            lists[retrieval["source"]].append(retrieval["refs"])
    return {name: found for name, found in lists.items() if found}


def _query_number(task: str) -> int:
    number = task.rpartition("/")[2]
    return int(number) if number.isdigit() else 0


def _hits(refs: Sequence[Ref], records: Mapping[str, EvidenceRecord]) -> list[Hit]:
    return [
        Hit(key, records[key]["source_name"], records[key]["source_id"], relevance, score)
        for key, relevance, score in refs
    ]


def _ref(hit: Hit) -> Ref:
    return [hit.key, hit.relevance, hit.score]
