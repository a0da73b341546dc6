"""Everything that the sources of a configuration find for one query, with nothing dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groundgraph.chains.merge import STRATEGIES, Hit
from groundgraph.core.deadline import within
from groundgraph.core.evidence import SourceResult
from groundgraph.core.intent import IntentState, RetrievalIntent
from groundgraph.core.settings import Settings
from groundgraph.graph.resources import Resources
from groundgraph.nodes.resolve_intent import enforce_filters
from groundgraph.sources.ask import ask
from groundgraph.sources.contract import GroundedSource

Found = dict[str, list[SourceResult]]


@dataclass(frozen=True)
class Matches:
    """What was found.

    Attributes:
        results: rows as `groundgraph inspect --json` prints them, the best first.
        failed: `{source, reason}` of each source that could not be searched.
        answered: how many sources answered.
    """

    results: list[dict[str, Any]]
    failed: list[dict[str, str]]
    answered: int


async def find_matches(settings: Settings, query: str, top_k: int) -> Matches:
    """At most `top_k` matches of each source, merged as a turn merges them.

    The default filters are in force, since they are a security boundary; score_threshold is not.

    Raises:
        ConfigurationError: the settings cannot work.
    """
    # Nothing is written, so the packages and keys of models need not be here.
    resources = Resources.build(settings.model_copy(update={"llm": None, "query_llm": None}))
    try:
        intent, skipped = enforce_filters(_intent(query), resources.schemas, settings.intent.default_filters)
        asked = {name: source for name, source in resources.sources.items() if name not in skipped}
        answers = await asyncio.gather(*(_answer(source, intent, settings, top_k) for source in asked.values()))
    finally:
        await resources.close()
    found: Found = {}
    failed = [{"source": name, "reason": entry["error"]} for name, entry in skipped.items()]
    for name, answer in zip(asked, answers, strict=True):
        if isinstance(answer, str):
            failed.append({"source": name, "reason": answer})
        else:
            found[name] = answer
    return Matches(_rows(found, settings), failed, len(found))


def _intent(query: str) -> IntentState:
    return {
        "mode": "message",
        "text_queries": [query],
        "filters": {},
        "scope": "focused",
        "output_style": None,
        "categories": [],
        "raw_data": {},
    }


async def _answer(
    source: GroundedSource, intent: IntentState, settings: Settings, top_k: int
) -> list[SourceResult] | str:
    """What `source` finds, or why it could not be searched."""
    limits = {entry.name: entry.timeout for entry in settings.sources if entry.timeout}
    limit = limits.get(source.name, settings.deadlines.source)
    asked = RetrievalIntent(intent["text_queries"], intent["filters"], intent["scope"])
    try:
        answer = await within(limit, ask(source, asked, top_k=top_k, score_threshold=0.0))
    except TimeoutError:
        return f"it did not answer within {limit:g} seconds"
    except Exception as error:  # any exception is a failure of the source, by contract
        return str(error).strip() or type(error).__name__
    return list(answer[:top_k])


def _rows(found: Found, settings: Settings) -> list[dict[str, Any]]:
    kept = {name: _kept(results, settings) for name, results in found.items()}
    weights = {entry.name: entry.weight for entry in settings.sources}
    by_source = {name: _hits(name, results) for name, results in found.items()}
    merged = STRATEGIES[settings.retrieval.merge](by_source, weights)
    return [
        _row(rank, found[hit.source_name][int(hit.key)], int(hit.key) in kept[hit.source_name])
        for rank, hit in enumerate(merged, 1)
    ]


def _kept(results: Sequence[SourceResult], settings: Settings) -> set[int]:
    """The positions of the results that a turn would keep."""
    retrieval = settings.retrieval
    passing = [n for n, result in enumerate(results) if result.relevance >= retrieval.score_threshold]
    return set(passing[: retrieval.top_k])


def _hits(name: str, results: Sequence[SourceResult]) -> list[Hit]:
    """The results as the merge takes them; the key is the position."""
    return [Hit(str(n), name, result.source_id, result.relevance, _score(result)) for n, result in enumerate(results)]


def _score(result: SourceResult) -> float:
    return result.relevance if result.score is None else result.score


def _row(rank: int, result: SourceResult, kept: bool) -> dict[str, Any]:
    return {
        "rank": rank,
        "source_name": result.source_name,
        "source_id": result.source_id,
        "document": _text(result.metadata, "document"),
        "section": _text(result.metadata, "section"),
        "relevance": round(result.relevance, 4),
        "match_score": round(_score(result), 4),
        "rerank_score": None,
        "kept": kept,
        "content": result.content,
    }


def _text(metadata: Mapping[str, Any], name: str) -> str | None:
    value = metadata.get(name)
    return None if value in (None, "") else str(value)
