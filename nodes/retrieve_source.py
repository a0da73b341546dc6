"""One query to one source; a failure is a value, not an exception."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime
from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_exponential_jitter
from typing_extensions import TypedDict

from groundgraph.core.context import Context, options_in_force
from groundgraph.core.deadline import within
from groundgraph.core.errors import SourceContractBroken, SourceError
from groundgraph.core.evidence import (
    EvidenceRecord,
    SourceResult,
    evidence_key,
    preview,
    to_record,
)
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.filters import matches
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.model_reply import is_transient, status_code
from groundgraph.core.settings import Settings
from groundgraph.core.turn_values import Ref, Retrieval
from groundgraph.sources.ask import ask
from groundgraph.sources.contract import GroundedSource

PREVIEWS = 2
PREVIEW_CHARS = 80


class RetrieveSourceInput(TypedDict):
    """One task of the fan-out: which source is asked what. `options` are those that the turn began with."""

    task: str
    source: str
    query: str
    filters: dict[str, Any]
    scope: str
    categories: list[str]
    raw_data: dict[str, Any]
    options: dict[str, Any]


class RetrieveSourceUpdate(TypedDict):
    """What the task writes: its own entry, and the evidence itself where there is no store."""

    retrievals: dict[str, Retrieval]
    bodies: dict[str, EvidenceRecord]


Node = Callable[[RetrieveSourceInput, Runtime[Context]], Awaitable[RetrieveSourceUpdate]]


def retrieve_source(
    settings: Settings, sources: Mapping[str, GroundedSource], evidence: EvidenceStore
) -> Node:
    """The node: asks within the source's limit, keeps what the contract allows, stores it."""
    limits = {entry.name: entry.timeout for entry in settings.sources if entry.timeout}

    async def retrieve_source(
        state: RetrieveSourceInput, runtime: Runtime[Context]
    ) -> RetrieveSourceUpdate:
        source = sources[state["source"]]
        options = options_in_force(settings, state["options"], runtime.context)
        limit = limits.get(source.name, settings.deadlines.source)
        started = time.perf_counter()
        retrieval: Retrieval = {"source": source.name, "query": state["query"], "refs": [], "found": 0}
        records: dict[str, EvidenceRecord] = {}
        intent = _intent(state)
        try:
            answer, retrieval["attempts"] = await _asked(
                source, intent, options.top_k, options.score_threshold, limit, settings.limits.attempts
            )
            kept, dropped = accepted(answer, source, intent, options.top_k, options.score_threshold)
            retrieval |= {"status": "ok", "found": len(answer), "dropped": dropped}
            retrieval["previews"] = [preview(result.content, PREVIEW_CHARS) for result in kept[:PREVIEWS]]
            records, retrieval["refs"] = _references(kept)
        except TimeoutError:
            retrieval |= {"status": "timed_out", "error": f"{limit:g}", "error_type": "SourceTimeout"}
        except Exception as error:
            retrieval |= {"status": "failed", "error": _reason(error), "error_type": type(error).__name__}
        in_state = await evidence.save(runtime.store, records)
        retrieval["elapsed_ms"] = round((time.perf_counter() - started) * 1000, 3)
        runtime.stream_writer(_event(retrieval))
        return {"retrievals": {state["task"]: retrieval}, "bodies": in_state}

    return retrieve_source


def _intent(state: RetrieveSourceInput) -> RetrievalIntent:
    filters = {state["source"]: state["filters"]} if state["filters"] else {}
    return RetrievalIntent(
        [state["query"]], filters, state["scope"], None, state["categories"], state["raw_data"]
    )


async def _asked(
    source: GroundedSource,
    intent: RetrievalIntent,
    top_k: int,
    score_threshold: float,
    limit: float,
    attempts: int,
) -> tuple[Sequence[SourceResult], int]:
    """The source's answer and the number of tries; transient errors are tried again within the limit."""
    tries = 0

    async def run() -> Sequence[SourceResult]:
        nonlocal tries
        async for attempt in AsyncRetrying(
            retry=retry_if_exception(_worth_another),
            stop=stop_after_attempt(attempts),
            wait=wait_exponential_jitter(multiplier=0.1, max=2),
            reraise=True,
        ):
            with attempt:
                tries += 1
                return await ask(source, intent, top_k=top_k, score_threshold=score_threshold)
        raise AssertionError("unreachable: the last try returns or raises")

    return await within(limit, run()), tries


def _worth_another(error: BaseException) -> bool:
    return not isinstance(error, SourceError) and is_transient(error)


def accepted(
    answer: Sequence[SourceResult],
    source: GroundedSource,
    intent: RetrievalIntent,
    top_k: int,
    score_threshold: float,
) -> tuple[list[SourceResult], dict[str, int]]:
    """The results of an answer that count as evidence, at most `top_k`, and how many were dropped by reason.

    Every source honours threshold, cap and filters by contract; this is the second lock on the same door.

    Raises:
        SourceContractBroken: the answer is no list of results.
    """
    if not isinstance(answer, list | tuple):
        raise SourceContractBroken(f"query() returned {type(answer).__name__} instead of a list of SourceResult")
    filters = intent.filters.get(source.name, {})
    kept: list[SourceResult] = []
    dropped: Counter[str] = Counter()
    for result in answer:
        if not isinstance(result, SourceResult):
            raise SourceContractBroken(f"query() returned {type(result).__name__} instead of SourceResult")
        reason = _fault_of(result, filters, score_threshold)
        if reason is None and len(kept) == top_k:
            reason = "beyond_top_k"
        if reason is None:
            kept.append(_normal(result, source))
        else:
            dropped[reason] += 1
    return kept, dict(dropped)


def _fault_of(result: SourceResult, filters: Mapping[str, Any], score_threshold: float) -> str | None:
    if not isinstance(result.content, str) or not result.content.strip():
        return "empty"
    if not math.isfinite(result.relevance):
        return "invalid_relevance"
    if result.relevance < score_threshold:
        return "below_threshold"
    known = {name: condition for name, condition in filters.items() if name in result.metadata}
    return None if matches(known, result.metadata) else "outside_filter"


def _normal(result: SourceResult, source: GroundedSource) -> SourceResult:
    if 0 <= result.relevance <= 1 and result.source_name == source.name:
        return result
    return SourceResult(
        result.content,
        str(result.source_id),
        source.name,
        source.source_type,
        min(1.0, max(0.0, result.relevance)),
        result.metadata,
        result.score,
    )


def _references(results: Sequence[SourceResult]) -> tuple[dict[str, EvidenceRecord], list[Ref]]:
    records: dict[str, EvidenceRecord] = {}
    refs: list[Ref] = []
    for result in results:
        record = to_record(result)
        key = evidence_key(record)
        records[key] = record
        score = result.score if result.score is not None else result.relevance
        refs.append([key, round(result.relevance, 4), round(score, 4)])
    return records, refs


def _reason(error: BaseException) -> str:
    status = status_code(error)
    text = str(error).strip() or type(error).__name__
    return f"{text[:300]} (status {status})" if status else text[:300]


def _event(retrieval: Retrieval) -> dict[str, Any]:
    shown = ("source", "query", "status", "error", "previews", "elapsed_ms")
    event = {name: retrieval[name] for name in shown if name in retrieval}  # type: ignore[literal-required]
    return {"stage": "retrieve_source", **event, "kept": len(retrieval["refs"])}

