"""One query to one source; a failure is a value, not an exception."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from langgraph.runtime import Runtime
from tenacity import stop_after_attempt
from tenacity.wait import wait_exponential, wait_random
from typing_extensions import TypedDict

from groundgraph.core.characters import clean_text
from groundgraph.core.computation import Computing, Proposal
from groundgraph.core.errors import ModelError, SchemaChanged, SourceContractBroken, SourceError
from groundgraph.core.evidence import (
    NEEDS,
    EvidenceRecord,
    SourceResult,
    changed,
    preview,
)
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.failure import (
    LASTING,
    OF_THE_QUESTION,
    OF_THE_SERVICE,
    bugs_logged_once,
    collect_degradations,
    is_transient,
    tell_failure,
)
from groundgraph.core.filters import matches, with_times
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.schema import SourceSchema
from groundgraph.core.turn_values import EMPTY_RETRIEVAL, Ref, Retrieval, RetrievalTask, SourceStatus, told_late
from groundgraph.models.call_model import collect_chain_calls
from groundgraph.nodes.node import Node, enforced_on, evidence_scope, signed_in
from groundgraph.resilience.bounds import (
    BreakerOfScope,
    DeadlinePassed,
    ScopedBreaker,
    with_retries,
    within,
    within_turn,
)
from groundgraph.settings.context import Context, Options, options_in_force
from groundgraph.settings.settings import Settings
from groundgraph.sources.contract import GroundedSource, ask

if TYPE_CHECKING:
    from groundgraph.answers.propose_computation import ProposeComputation

# In place of what a source says would have to be computed: the outcome of a computation that a model proposes.


@dataclass(frozen=True)
class ComputeAnswer:
    """Asks for a computation where the source can run one, and has said that one is needed.

    Attributes:
        propose: asks the model.
    """

    propose: ProposeComputation

    async def __call__(
        self, answer: Sequence[SourceResult], source: GroundedSource, intent: RetrievalIntent, words: str, limit: float
    ) -> Sequence[SourceResult]:
        """`answer`, or in its place the outcome of a computation.

        Args:
            answer: what the source gave.
            source: the source.
            intent: what it was asked; its filters hold for the computation too.
            words: the user's that stand behind that; none when another query has them.
            limit: seconds for each time that the source is asked.
        """
        computing = source.computing()
        if computing is None or not words:
            return answer
        try:
            if words not in intent.text_queries:
                # A model's query may have lost that something is to be computed.
                own = replace(intent, text_queries=[words], message=None)
                answer = [*_computed(await within_turn(limit, ask(source, own, top_k=1, score_threshold=0.0))), *answer]
            note = next(filter(_is_note, answer), None)
            found = await self._proposed(computing, note, intent.filters.get(source.name, {}), words, limit)
        except (ModelError, DeadlinePassed) as error:
            # The search itself is whole, and the answer says what would have to be computed.
            tell_failure(error, "step", f"computing over {source.name}")
            return answer
        return [found] if found is not None else answer

    async def _proposed(
        self, computing: Computing, note: SourceResult | None, filters: Mapping[str, Any], words: str, limit: float
    ) -> SourceResult | None:
        if note is None:
            return None

        async def run(proposal: Proposal) -> SourceResult:
            return await within_turn(limit, computing.run(proposal, filters))

        tables = await within_turn(limit, computing.tables(list(note.metadata["tables"]), filters))
        return await self.propose(words, tables, run) if tables else None


def _is_note(result: SourceResult) -> bool:
    return isinstance(result, SourceResult) and bool((result.metadata or {}).get(NEEDS))


def _computed(answer: Sequence[SourceResult]) -> list[SourceResult]:
    """Of the answer to a question what was computed, or would have to be."""
    return [one for one in answer if _is_note(one) or one.metadata.get("computed")]


# Asking a source.

# The scores that mean the same for every question: see `groundgraph.answers.agreement`.
FITS = ("lexical", "vector", "held")
# They stand in every checkpoint between the search and the end of the turn.
PREVIEWS = 20
PLACE_CHARS = 40
PREVIEW_CHARS = 80
# The longest that a source is waited for which may tell that it is well again, in seconds.
_LOOK = 1.0
_BACKOFF = wait_exponential(multiplier=0.1, max=2) + wait_random(0, 0.1)


class RetrieveSourceInput(TypedDict):
    """What the fan-out sends: one task."""

    task: RetrievalTask


class RetrieveSourceUpdate(TypedDict):
    """What the task writes: its own entry, and the evidence itself where there is no store."""

    retrievals: dict[str, Retrieval]
    bodies: dict[str, EvidenceRecord]


def retrieve_source(
    settings: Settings,
    sources: Mapping[str, GroundedSource],
    schemas: Mapping[str, SourceSchema | None],
    evidence: EvidenceStore,
    compute: ComputeAnswer | None = None,
) -> Node[RetrieveSourceInput, RetrieveSourceUpdate]:
    """The node: asks within the source's limit, keeps what the contract allows, stores it.

    With `compute`, what would have to be computed is computed where a model can say how.
    """
    breakers = {
        name: ScopedBreaker(settings.limits.breaker_failures, settings.limits.breaker_pause) for name in sources
    }
    bugs: set[tuple[str, ...]] = set()

    async def retrieve_source(state: RetrieveSourceInput, runtime: Runtime[Context]) -> RetrieveSourceUpdate:
        task = state["task"]
        source = sources[task["source"]]
        options = options_in_force(settings, task["options"], runtime.context)
        limit = settings.timeout_of(source.name)
        started = time.perf_counter()
        retrieval = _of(task)
        records: dict[str, EvidenceRecord] = {}
        schema = schemas.get(source.name)
        enforced = enforced_on(source.name, schema, settings, options.scope, signed_in(runtime))
        breaker = breakers[source.name].of({"scope": options.scope, "filters": enforced})
        intent = _intent(task, enforced)
        if breaker.allows() or await _recovered(source):
            question = _question(task, source, schema, intent, options)
            with collect_degradations() as degradations, collect_chain_calls() as calls, bugs_logged_once(bugs):
                scope = evidence_scope(settings, runtime, task["options"])
                attempts = settings.limits.attempts
                asking = Asking(limit, attempts, compute)
                retrieval, records = await _retrieved(question, retrieval, asking, evidence, scope)
            retrieval |= {"degraded": list(degradations), "calls": list(calls)}
            _count(breaker, retrieval)
        else:
            error = f"it failed repeatedly and is asked again in {breaker.seconds_left():.0f} seconds"
            retrieval |= {"status": "skipped", "error": error, "error_type": "CircuitOpen"}
        in_state = await evidence.save(runtime.store, records)
        retrieval["elapsed_ms"] = round((time.perf_counter() - started) * 1000, 3)
        runtime.stream_writer(_event(retrieval))
        return {"retrievals": {task["name"]: retrieval}, "bodies": in_state}

    return retrieve_source


def _count(breaker: BreakerOfScope, report: Retrieval) -> None:
    """A failure of the service opens the breaker for everybody, one over what this run asked for opens it for nobody,
    nor does one that stays until somebody mends it, which is told and not waited for; any other for the runs of its
    scope."""
    kind = report["failure"]["kind"] if report["failure"] else "timeout"
    if report["status"] == "ok":
        breaker.succeeded()
    elif kind not in OF_THE_QUESTION | LASTING:
        breaker.failed(for_all=kind in OF_THE_SERVICE)


async def _recovered(source: GroundedSource) -> bool:
    try:
        return bool(await within(_LOOK, source.recovered()))
    except Exception:  # a source that cannot even tell has not recovered
        return False


def _intent(task: RetrievalTask, enforced: Mapping[str, Any]) -> RetrievalIntent:
    # Set here once more: whoever edits a state must not get around them.
    own = {**task["filters"], **enforced}
    filters = {task["source"]: own} if own else {}
    # The facts of a category are asked for without a question.
    queries = [] if task.get("kind") == "state_facts" else [task["query"]]
    return RetrievalIntent(
        queries,
        filters,
        task["scope"],
        None,
        task["categories"],
        task["raw_data"],
        task.get("message"),
        task.get("earlier", []),
        task.get("cited", []),
    )


def _of(task: RetrievalTask) -> Retrieval:
    """What the task gave before it was asked: nothing."""
    return {**EMPTY_RETRIEVAL, "source": task["source"], "query": task["query"], "kind": task.get("kind", "query")}


def _question(
    task: RetrievalTask,
    source: GroundedSource,
    schema: SourceSchema | None,
    intent: RetrievalIntent,
    options: Options,
) -> Question:
    # What has no question has no relevance to it.
    threshold = 0.0 if task.get("kind") == "state_facts" else options.score_threshold
    words = task.get("question", task["query"])
    return Question(source, schema, intent, task.get("top_k", options.top_k), threshold, words)


References = tuple[dict[str, EvidenceRecord], list[Ref]]


@dataclass(frozen=True)
class Question:
    """What a source is asked; its schema is that of the graph, since asking a source for it may take a while. `words`
    are the user's that stand behind it."""

    source: GroundedSource
    schema: SourceSchema | None
    intent: RetrievalIntent
    top_k: int
    score_threshold: float
    words: str


@dataclass(frozen=True)
class Asking:
    """How a source is asked: seconds for all tries, how many there are, and what computes in place of what it needs."""

    limit: float
    attempts: int
    compute: ComputeAnswer | None


async def _retrieved(
    question: Question, so_far: Retrieval, asking: Asking, evidence: EvidenceStore, scope: str
) -> tuple[Retrieval, dict[str, EvidenceRecord]]:
    """`so_far` with what came of the question, and the records of the evidence that it gave."""
    started = time.perf_counter()
    tried: list[float] = []
    try:
        answer = await _asked(question, asking, tried)
        if asking.compute is not None and isinstance(answer, list | tuple):
            answer = await asking.compute(answer, question.source, question.intent, question.words, asking.limit)
        kept, dropped = accepted(answer, question)
        records, refs = _references(kept, evidence, scope)
    except DeadlinePassed:
        waited = told_late(time.perf_counter() - started)
        late: Retrieval = {**so_far, "status": "timed_out", "error": waited, "error_type": "SourceTimeout"}
        return {**late, "attempts": len(tried)}, {}
    except Exception as error:
        status: SourceStatus = "schema_changed" if isinstance(error, SchemaChanged) else "failed"
        told = tell_failure(error, "source", question.source.name)
        kind, failure = type(error).__name__, told.failure
        failed: Retrieval = {**so_far, "status": status, "error": told.text, "error_type": kind, "failure": failure}
        return {**failed, "attempts": len(tried)}, {}
    return {
        **so_far,
        "refs": refs,
        "found": len(answer),
        "dropped": dropped,
        "attempts": len(tried),
        "previews": [_preview(result) for result in kept[:PREVIEWS]],
        "fits": _fits(kept, refs),
    }, records


async def _asked(question: Question, asking: Asking, tried: list[float]) -> Sequence[SourceResult]:
    """The source's answer; transient errors are tried again within the limit. When each try began stands in `tried`,
    also where none succeeds."""

    async def once() -> Sequence[SourceResult]:
        tried.append(time.perf_counter())
        return await ask(
            question.source, question.intent, top_k=question.top_k, score_threshold=question.score_threshold
        )

    work = with_retries(once, _worth_another, stop=stop_after_attempt(asking.attempts), wait=_BACKOFF)
    return await within_turn(asking.limit, work)


def _worth_another(error: BaseException) -> bool:
    return not isinstance(error, SourceError) and is_transient(error)


def accepted(answer: Sequence[SourceResult], question: Question) -> tuple[list[SourceResult], dict[str, int]]:
    """The results of an answer that count as evidence, at most `top_k`, and how many others there were by reason.

    Of a source that gives whole topics, neither `top_k` nor the threshold takes anything away.

    Every source honours threshold, cap and filters by contract; this is the second lock on the same door.

    Raises:
        SourceContractBroken: the answer is no list of results.
    """
    if not isinstance(answer, list | tuple):
        raise SourceContractBroken(f"query() returned {type(answer).__name__} instead of a list of SourceResult")
    filters = question.intent.filters.get(question.source.name, {})
    filters = with_times(question.schema, filters) if filters else {}
    whole, told = question.source.whole_topics, (question.source.name, question.source.source_type)
    threshold, most = (0.0, len(answer)) if whole else (question.score_threshold, question.top_k)
    kept: list[SourceResult] = []
    dropped: Counter[str] = Counter()
    for result in answer:
        if not isinstance(result, SourceResult):
            raise SourceContractBroken(f"query() returned {type(result).__name__} instead of SourceResult")
        judged = _judged(result, told, filters, threshold)
        if isinstance(judged, str):
            dropped[judged] += 1
        elif len(kept) == most:
            dropped["beyond_top_k"] += 1
        else:
            kept.append(judged)
    if not kept and dropped["invalid_relevance"]:
        raise SourceContractBroken("every relevance that it gave is no number")
    return kept, dict(dropped)


def _judged(
    result: SourceResult, told: tuple[str, str], filters: Mapping[str, Any], score_threshold: float
) -> SourceResult | str:
    """The result with plain values of the right types, whatever a client library made of them, and the name and the
    kind that its source has; or the reason why it does not count."""
    if not isinstance(result.content, str) or not result.content.strip():
        return "empty"
    relevance = _number(result.relevance)
    if relevance is None:
        return "invalid_relevance"
    if relevance < score_threshold:
        return "below_threshold"
    metadata = dict(result.metadata or {})
    if filters and not matches({name: filters[name] for name in filters if name in metadata}, metadata):
        return "outside_filter"
    return _plain(result, told, min(1.0, max(0.0, relevance)), metadata)


def _plain(result: SourceResult, told: tuple[str, str], relevance: float, metadata: Mapping[str, Any]) -> SourceResult:
    # Most give none, and to refuse None takes longest.
    score = None if result.score is None else _number(result.score)
    return changed(
        result,
        content=clean_text(result.content),
        source_id=clean_text(str(result.source_id)),
        source_name=told[0],
        source_type=told[1],
        relevance=relevance,
        metadata=metadata,
        score=relevance if score is None else score,
        scores={name: value for name, one in result.scores.items() if (value := _number(one)) is not None},
    )


def _number(value: Any) -> float | None:
    """`value` as a finite number, None when it is none."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _references(results: Sequence[SourceResult], evidence: EvidenceStore, scope: str) -> References:
    records: dict[str, EvidenceRecord] = {}
    refs: list[Ref] = []
    for result, (key, record) in zip(results, evidence.named(results, scope), strict=True):
        records[key] = record
        score = result.relevance if result.score is None else result.score
        refs.append([key, round(result.relevance, 4), round(score, 4)])
    return records, refs


def _fits(results: Sequence[SourceResult], refs: Sequence[Ref]) -> dict[str, dict[str, float]]:
    """By evidence key, what the source says of how well it fits the query."""
    fits: dict[str, dict[str, float]] = {}
    for result, ref in zip(results, refs, strict=True):
        told = {name: round(result.scores[name], 4) for name in FITS if name in result.scores}
        if told:
            fits[ref[0]] = told
    return fits


def _preview(result: SourceResult) -> str:
    """A piece of evidence in a line: its id and section, and how its text begins."""
    place = preview(f"{result.source_id} {result.metadata.get('section') or ''}", PLACE_CHARS)
    return preview(f"{place}: {result.content[:PREVIEW_CHARS]}", PREVIEW_CHARS)


def _event(retrieval: Retrieval) -> dict[str, Any]:
    shown = ("source", "query", "status", "error", "previews", "elapsed_ms")
    event = {name: retrieval[name] for name in shown if retrieval[name]}  # type: ignore[literal-required]
    return {"stage": "retrieve_source", **event, "kept": len(retrieval["refs"])}
