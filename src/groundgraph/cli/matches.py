"""Everything that the sources of a configuration find for one query, with nothing dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from groundgraph.core.chain import IDENTITY, Match
from groundgraph.core.evidence import Hit
from groundgraph.core.failure import collect_degradations
from groundgraph.core.intent import EMPTY_INTENT, IntentState, RetrievalIntent
from groundgraph.core.secret_mask import mask
from groundgraph.graph.resources import Resources
from groundgraph.nodes.resolve_intent import enforce_filters
from groundgraph.nodes.works.merge_results import STRATEGIES
from groundgraph.resilience.bounds import within
from groundgraph.settings.settings import Settings
from groundgraph.sources.contract import GroundedSource, ask
from groundgraph.sources.knowledge_base.chained_source import ChainedSource

Found = dict[str, list[Match]]
# Query chains that call no model.
_PLAIN = {"identity", "basic"}


@dataclass(frozen=True)
class Matches:
    """What was found.

    Attributes:
        results: rows as `groundgraph inspect --json` prints them, the best first.
        failed: `{source, reason}` of each source that could not be searched, or not in full.
        answered: how many sources answered.
    """

    results: list[dict[str, Any]]
    failed: list[dict[str, str]]
    answered: int


async def find_matches(settings: Settings, query: str, top_k: int, *, identity: bool = False) -> Matches:
    """At most `top_k` matches of each source, merged as a turn merges them.

    The default filters are in force, since they are a security boundary; score_threshold is not, and what the filter
    of a knowledge base would drop is marked. With `identity` its query chains are left out.

    Raises:
        ConfigurationError: the settings cannot work.
    """
    resources = Resources.build(_needed(settings, identity=identity))
    try:
        intent, skipped = enforce_filters(_intent(query), resources.schemas, settings.intent.default_filters)
        asked = {name: source for name, source in resources.sources.items() if name not in skipped}
        searches = (_answer(source, intent, settings, top_k, identity=identity) for source in asked.values())
        answers = await asyncio.gather(*searches)
    finally:
        await resources.close()
    found: Found = {}
    failed = [{"source": name, "reason": entry["error"]} for name, entry in skipped.items()]
    for name, (answer, reasons) in zip(asked, answers, strict=True):
        failed += [{"source": name, "reason": reason} for reason in reasons]
        if answer is not None:
            found[name] = answer
    return Matches(_rows(found, settings), failed, len(found))


def _needed(settings: Settings, *, identity: bool) -> Settings:
    """The settings with the models that a search calls; nothing is written, so others need not be here."""
    query = settings.chains.query
    choices = (query.transformer, query.reranker, query.filter)
    names = {choice if isinstance(choice, str) else str(choice.get("name", "")) for choice in choices}
    if not identity and not names <= _PLAIN:
        return settings
    bare = settings.without_models()
    return settings.model_copy(update={"llm": None, "query_llm": None, "intent": bare.intent})


def _intent(query: str) -> IntentState:
    return {**EMPTY_INTENT, "mode": "message", "text_queries": [query], "scope": "focused"}


async def _answer(
    source: GroundedSource, intent: IntentState, settings: Settings, top_k: int, *, identity: bool
) -> tuple[list[Match] | None, list[str]]:
    """What `source` finds, None when it could not be searched, and the reasons for what is missing."""
    limit = settings.timeout_of(source.name)
    with collect_degradations() as without:
        try:
            found = await within(limit, _found(source, intent, top_k, identity=identity))
        except TimeoutError:
            return None, [f"it did not answer within {limit:g} seconds"]
        except Exception as error:  # any exception is a failure of the source, by contract
            return None, [mask(str(error).strip()) or type(error).__name__]
    if isinstance(source, ChainedSource) and all(entry["part"] != "reranker" for entry in without):
        found = [_with_rerank_score(match) for match in found]
    return found[:top_k], [f"it answered without its {entry['part']}: {entry['reason']}" for entry in without]


def _with_rerank_score(match: Match) -> Match:
    """`match` with the score of the identity reranker, which takes the place of none."""
    return match if match.rerank_score is not None else replace(match, rerank_score=1.0)


async def _found(source: GroundedSource, intent: IntentState, top_k: int, *, identity: bool) -> list[Match]:
    if isinstance(source, ChainedSource):
        filters = intent["filters"].get(source.name, {})
        chains = IDENTITY if identity else None
        return await source.matches(intent["text_queries"][0], top_k=top_k, chains=chains, filters=filters)
    asked = RetrievalIntent(intent["text_queries"], intent["filters"], intent["scope"])
    results = await ask(source, asked, top_k=top_k, score_threshold=0.0)
    return [Match(result, result.relevance if result.score is None else result.score) for result in results]


def _rows(found: Found, settings: Settings) -> list[dict[str, Any]]:
    kept = {name: _kept(matches, settings) for name, matches in found.items()}
    weights = {entry.name: entry.weight for entry in settings.sources}
    by_source = {name: _hits(name, matches) for name, matches in found.items()}
    merged = STRATEGIES[settings.retrieval.merge](by_source, weights)
    return [
        _row(rank, found[hit.source_name][int(hit.key)], int(hit.key) in kept[hit.source_name])
        for rank, hit in enumerate(merged, 1)
    ]


def _kept(matches: Sequence[Match], settings: Settings) -> set[int]:
    """The positions of the matches that a turn would keep."""
    retrieval = settings.retrieval
    passing = [
        n for n, match in enumerate(matches) if match.kept and match.result.relevance >= retrieval.score_threshold
    ]
    return set(passing[: retrieval.top_k])


def _hits(name: str, matches: Sequence[Match]) -> list[Hit]:
    """The matches as the merge takes them; the key is the position."""
    return [
        Hit(str(n), name, match.result.source_id, match.result.relevance, _score(match))
        for n, match in enumerate(matches)
    ]


def _score(match: Match) -> float:
    return match.result.relevance if match.result.score is None else match.result.score


def _row(rank: int, match: Match, kept: bool) -> dict[str, Any]:
    result = match.result
    return {
        "rank": rank,
        "source_name": result.source_name,
        "source_id": result.source_id,
        "document": _text(result.metadata, "document"),
        "section": _text(result.metadata, "section"),
        "relevance": round(result.relevance, 4),
        "match_score": round(match.match_score, 4),
        "rerank_score": None if match.rerank_score is None else round(match.rerank_score, 4),
        "kept": kept,
        "content": result.content,
    }


def _text(metadata: Mapping[str, Any], name: str) -> str | None:
    value = metadata.get(name)
    return None if value in (None, "") else str(value)
