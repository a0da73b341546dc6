"""What the steps between the merge and the answer have in common: each reads the ranking and writes it anew."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NotRequired, TypeVar

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from groundgraph.chains.merge import Hit
from groundgraph.core.context import Context
from groundgraph.core.evidence import EvidenceRecord
from groundgraph.core.intent import IntentState
from groundgraph.core.turn_values import Ranking, Ref, Retrieval, RetrievalPath, Turn

T = TypeVar("T")


class RankingInput(TypedDict, total=False):
    """What such a step reads."""

    metadata: dict[str, Any]
    turn: Turn
    intent: IntentState
    retrievals: dict[str, Retrieval]
    bodies: dict[str, EvidenceRecord]
    ranking: Ranking


class RankingUpdate(TypedDict):
    """What such a step writes: the ranking, and new evidence where there is no store for it."""

    ranking: Ranking
    bodies: NotRequired[dict[str, EvidenceRecord]]


# What the last of these steps does at its end: it decides how the turn is answered.
Ending = Callable[[RankingInput, Runtime[Context], Ranking], Awaitable[Ranking]]


def hits_of(refs: Sequence[Ref], records: Mapping[str, EvidenceRecord]) -> list[Hit]:
    """The references with the names of what they refer to."""
    named = ((key, records[key], relevance, score) for key, relevance, score in refs)
    return [
        Hit(key, record["source_name"], record["source_id"], relevance, score, record["content"])
        for key, record, relevance, score in named
    ]


def ref_of(hit: Hit) -> Ref:
    """The hit as the state holds it."""
    return [hit.key, hit.relevance, hit.score]


def parts_of(ranking: Ranking, key: str) -> list[str]:
    """The keys of the chunks that a piece of evidence consists of."""
    return ranking.get("joined", {}).get(key, [key])


def of_path(by_path: Mapping[RetrievalPath, T], turn: Turn) -> T:
    """What `by_path` has for the path of `turn`; that of the plain path for a turn that began before there were paths,
    or under a configuration that had others."""
    return by_path.get(turn.get("path", "cascade"), by_path["cascade"])


def changed(ranking: Ranking, step: str, started: float, refs: Sequence[Ref], **strategies: Any) -> Ranking:
    """`ranking` after the step `step`, which began at `started` of the performance counter and ran `strategies`."""
    return {
        **ranking,
        "refs": list(refs),
        "strategies": {**ranking.get("strategies", {}), **strategies},
        "timings": {**ranking.get("timings", {}), step: round((time.perf_counter() - started) * 1000, 3)},
    }


def with_issue(ranking: Ranking, note: str) -> Ranking:
    """`ranking` with one more sentence for the reader."""
    return {**ranking, "issues": [*ranking.get("issues", []), note]}


async def ended(state: RankingInput, runtime: Runtime[Context], ranking: Ranking, ending: Ending | None) -> Ranking:
    """`ranking`, brought to its end by the step that is the last one."""
    return await ending(state, runtime, ranking) if ending else ranking
