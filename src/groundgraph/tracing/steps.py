"""A graph whose steps have spans, and what the span of each step says, beside its name and how long it took."""

from __future__ import annotations

import functools
import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.tracers.context import register_configure_hook
from langgraph.graph import StateGraph
from openinference.semconv.trace import (
    EmbeddingAttributes,
    MessageAttributes,
    OpenInferenceMimeTypeValues,
    RerankerAttributes,
    SpanAttributes,
)
from typing_extensions import override

from groundgraph.answers.gated_model import GATED
from groundgraph.core.chain import QueryChains, Reranker
from groundgraph.core.embedder import Embedder
from groundgraph.core.evidence import EvidenceRecord, SourceResult
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.turn_values import Ref
from groundgraph.nodes.process_results import Change, View, Work
from groundgraph.resilience.blocking import call_chain
from groundgraph.settings.services import TracingSettings
from groundgraph.tracing.span import Attribute, Span, current_run
from groundgraph.tracing.spans import LISTED, OtelSpan, OtelTracing, ToldDocument, set_documents, tracing_of

# The prefix of what OpenInference has no name for.
OWN = "groundgraph"


@dataclass(frozen=True)
class Done:
    """A step that has ended.

    Attributes:
        state: what it read.
        update: what it wrote.
        thread: the id of the conversation, None without one.
        records: the evidence that `Step.refs` refers to.
        run: the span of the whole run.
    """

    state: Mapping[str, Any]
    update: Mapping[str, Any]
    thread: str | None
    records: Mapping[str, EvidenceRecord]
    run: Span

    def documents(self, refs: Sequence[Ref]) -> list[ToldDocument]:
        """The evidence of `refs` as spans tell of it."""
        known = [(self.records[ref[0]], ref[1]) for ref in refs]
        return [
            {"id": record["source_id"], "score": score, "source": record["source_name"], "text": record["content"]}
            for record, score in known
        ]


def own(**values: Any) -> dict[str, Attribute]:
    """Attributes of our own; what is None is left out."""
    return {f"{OWN}.{name.replace('__', '.')}": value for name, value in values.items() if value is not None}


def begin_turn(span: Span, done: Done) -> None:
    """The turn and the conversation that it belongs to, on the whole run."""
    _name_run(done, done.update["turn"])
    span.set(own(fast_path=bool(done.update["draft"])))


def _name_run(done: Done, turn: Mapping[str, Any]) -> None:
    done.run.set(own(turn_id=turn["id"], language=turn["language"]))
    if done.thread is not None:
        done.run.set({SpanAttributes.SESSION_ID: str(done.thread)})
    done.run.content({SpanAttributes.INPUT_VALUE: turn["question"]})


def resolve_intent(span: Span, done: Done) -> None:
    """How many queries go to which sources; queries and filters are content."""
    intent = done.update["intent"]
    span.set(
        own(
            intent__mode=intent["mode"],
            intent__scope=intent["scope"],
            intent__queries=len(intent["text_queries"]),
            intent__dropped=len(intent["dropped"] or ()),
            sources=list(intent["sources"]),
        )
    )
    told = {"text_queries": intent["text_queries"], "filters": intent["filters"]}
    span.content({SpanAttributes.OUTPUT_VALUE: _json(told), **_JSON_OUTPUT})


def retrieve_source(span: Span, done: Done) -> None:
    """What one query to one source gave. A source that could not answer has failed, though the turn goes on."""
    (retrieval,) = done.update["retrievals"].values()
    span.content({SpanAttributes.INPUT_VALUE: retrieval["query"]})
    set_documents(span, SpanAttributes.RETRIEVAL_DOCUMENTS, done.documents(retrieval["refs"]))
    span.set(
        own(
            source=retrieval["source"],
            status=retrieval["status"],
            results=len(retrieval["refs"]),
            found=retrieval["found"],
            attempts=retrieval["attempts"] or None,
        )
    )
    span.set({f"{OWN}.dropped.{reason}": count for reason, count in retrieval["dropped"].items()})
    if retrieval["status"] != "ok":
        span.failed(retrieval["error_type"])
        span.content(own(error=retrieval["error"]))


def ranked(span: Span, done: Done) -> None:
    """How many results went in and how many came out."""
    before = done.state.get("ranking", {}).get("refs")
    span.set(own(results_before=None if before is None else len(before), results=len(done.update["ranking"]["refs"])))


def rerank_results(span: Span, done: Done) -> None:
    """Which reranker judged what."""
    before, ranking = done.state["ranking"]["refs"], done.update["ranking"]
    entry = ranking["strategies"].get("reranker", {})
    # Twice as many documents as in another span, so the first list is the shorter one.
    asked: list[ToldDocument] = [{"id": one["id"], "score": one["score"]} for one in done.documents(before)]
    set_documents(span, RerankerAttributes.RERANKER_INPUT_DOCUMENTS, asked)
    set_documents(span, RerankerAttributes.RERANKER_OUTPUT_DOCUMENTS, done.documents(ranking["refs"]))
    if entry.get("method"):
        span.set({RerankerAttributes.RERANKER_MODEL_NAME: entry["method"]})
    elif before:
        span.failed("RerankerFailed")
    span.content({RerankerAttributes.RERANKER_QUERY: done.state["turn"]["question"]})
    ranked(span, done)


def answer(span: Span, done: Done) -> None:
    """In which style the answer was written, and how the writing ended."""
    draft = done.update["draft"]
    span.set(own(style=draft["style"], outcome=draft["outcome"], finish=draft["finish"], cited=len(draft["order"])))
    span.content({SpanAttributes.OUTPUT_VALUE: draft["text"]})


def check_citations(span: Span, done: Done) -> None:
    """What the check found, by kind; the sentences are content."""
    check = done.update["check"]
    span.set(
        own(
            score=check["score"],
            answerable=check["answerable"],
            verdict=check["verdict"],
            flags=len(check["flags"]),
            flag_kinds=sorted({flag["kind"] for flag in check["flags"]}),
        )
    )
    span.content({SpanAttributes.OUTPUT_VALUE: _json(check["flags"]), **_JSON_OUTPUT})


def record_turn(span: Span, done: Done) -> None:  # noqa: ARG001 - it tells of the whole run
    """What came of the turn, on the whole run."""
    done.run.set(own(citations=len(done.update["citations"]), flags=len(done.update["support"]["flags"])))
    _end_run(done, done.update["answer"])


def give_context(span: Span, done: Done) -> None:  # noqa: ARG001 - it tells of the whole run
    """What came of the retrieval, on the whole run."""
    _end_run(done, done.update["context"])


def ingest_step(span: Span, done: Done) -> None:
    """How many documents are under way, and how many of them failed here."""
    batch, report = done.update.get("batch"), done.update.get("report", {})
    span.set(own(documents=None if batch is None else len(batch), failed=len(report.get("failed", []))))


def finish_ingest(span: Span, done: Done) -> None:  # noqa: ARG001 - it tells of the whole run
    """What came of the ingest, on the whole run."""
    before, last = done.state.get("report", {}), done.update["report"]
    counts = {name: before.get(name, 0) + last.get(name, 0) for name in _INGESTED}
    failed = len(before.get("failed", [])) + len(last.get("failed", []))
    done.run.set(own(**counts, failed=failed))


_INGESTED = ("documents", "chunks", "written", "unchanged", "deleted")
_JSON_OUTPUT = {SpanAttributes.OUTPUT_MIME_TYPE: OpenInferenceMimeTypeValues.JSON.value}


def _end_run(done: Done, output: str) -> None:
    # A run that was resumed did not begin with `begin_turn`.
    _name_run(done, done.state["turn"])
    retrievals = list(done.state.get("retrievals", {}).values())
    results = done.state["ranking"].get("refs", []) if done.state.get("ranking") else []
    calls = done.update["provenance"].get("models", [])
    done.run.set(
        own(
            outcome=done.update["outcome"],
            notes=len(done.update["notes"]),
            retrievals=len(retrievals),
            retrievals_failed=sum(retrieval["status"] != "ok" for retrieval in retrievals),
            retrieved=sum(len(retrieval["refs"]) for retrieval in retrievals),
            results=len(results),
            model_calls=len(calls),
        )
    )
    done.run.set(
        {
            SpanAttributes.LLM_TOKEN_COUNT_PROMPT: sum(call.get("input_tokens", 0) for call in calls),
            SpanAttributes.LLM_TOKEN_COUNT_COMPLETION: sum(call.get("output_tokens", 0) for call in calls),
        }
    )
    done.run.content({SpanAttributes.OUTPUT_VALUE: output})


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


@dataclass(frozen=True)
class Step:
    """How a step is told about.

    Attributes:
        kind: of its span.
        describe: what is said on it when the step has ended.
        refs: the evidence that this names, out of what the step read and what it wrote.
    """

    kind: str = "CHAIN"
    describe: Callable[[Span, Done], None] | None = None
    refs: Callable[[Mapping[str, Any], Mapping[str, Any]], list[Ref]] | None = None


def _retrieved(_: Mapping[str, Any], update: Mapping[str, Any]) -> list[Ref]:
    return [ref for retrieval in update["retrievals"].values() for ref in retrieval["refs"]]


def _reranked(state: Mapping[str, Any], update: Mapping[str, Any]) -> list[Ref]:
    return [*state["ranking"]["refs"], *update["ranking"]["refs"]]


STEPS: dict[str, Step] = {
    "begin_turn": Step(describe=begin_turn),
    "resolve_intent": Step(describe=resolve_intent),
    "retrieve_source": Step("RETRIEVER", retrieve_source, _retrieved),
    "process_results": Step(describe=ranked),
    "check_citations": Step("GUARDRAIL", check_citations),
    "refuse_answer": Step("GUARDRAIL", answer),
    "record_turn": Step(describe=record_turn),
    "give_context": Step(describe=give_context),
    **dict.fromkeys(("answer_structured", "answer_conversational", "answer_hybrid"), Step(describe=answer)),
    **dict.fromkeys(("report_absence", "repair_answer", "review_answer"), Step(describe=answer)),
    **dict.fromkeys(("load_documents", "cut_chunks", "embed_texts", "write_documents"), Step(describe=ingest_step)),
    **dict.fromkeys(("write_qualifying_texts", "write_matching_texts"), Step(describe=ingest_step)),
    "finish_ingest": Step(describe=finish_ingest),
}
"""By the name of the step; any other step has a span of kind CHAIN that says nothing more."""

WORK = Step(describe=ranked)
WORKS = {"rerank_results": Step("RERANKER", rerank_results, _reranked)}
"""By the name of the work of `process_results`; any other is told about as `WORK`."""


# Spans around the steps.

# A span for every call of a language model within a step, told by LangChain's callbacks.

_calls: ContextVar[ModelCallSpans | None] = ContextVar("model_call_spans", default=None)
# LangChain asks for the handler whenever a model is called, wherever that is; the caller's own callbacks stay as they
# are, LangSmith's among them.
register_configure_hook(_calls, inheritable=False)

_ROLES = {"human": "user", "ai": "assistant"}


class ModelCallSpans(BaseCallbackHandler):
    """Opens and ends the spans of one step's model calls.

    The model that only passes another one's text through the gate is no call of its own.
    """

    run_inline = True
    ignore_chain = True
    ignore_agent = True
    ignore_retriever = True
    ignore_retry = True
    ignore_custom_event = True

    def __init__(self, tracing: OtelTracing) -> None:
        self._tracing = tracing
        self._open: dict[UUID, OtelSpan] = {}

    @override
    def on_chat_model_start(
        self, serialized: Any, messages: list[list[BaseMessage]], *, run_id: UUID, **told: Any
    ) -> None:
        self._start(run_id, told, _messages(SpanAttributes.LLM_INPUT_MESSAGES, messages[0] if messages else []))

    @override
    def on_llm_start(self, serialized: Any, prompts: list[str], *, run_id: UUID, **told: Any) -> None:
        self._start(run_id, told, {SpanAttributes.INPUT_VALUE: prompts[0] if prompts else ""})

    @override
    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        if span := self._open.pop(run_id, None):
            _finish(span, response)
            span.end()

    @override
    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        if span := self._open.pop(run_id, None):
            span.raised(error)
            span.end()

    def close(self) -> None:
        """End what is open still: nobody is told of a call that was cancelled."""
        while self._open:
            _, span = self._open.popitem()
            span.failed("CancelledError")
            span.end()

    def _start(self, run_id: UUID, told: Mapping[str, Any], content: Mapping[str, Attribute]) -> None:
        metadata, params = told.get("metadata") or {}, told.get("invocation_params") or {}
        if params.get("_type") == GATED:
            return
        named = {
            SpanAttributes.LLM_MODEL_NAME: metadata.get("ls_model_name")
            or params.get("model_name")
            or params.get("model"),
            SpanAttributes.LLM_PROVIDER: metadata.get("ls_provider"),
        }
        known: dict[str, Attribute] = {name: one for name, one in named.items() if isinstance(one, str) and one}
        self._open[run_id] = span = self._tracing.open(told.get("name") or "model_call", "LLM", known)
        span.content(content)


@contextmanager
def model_call_spans(tracing: OtelTracing) -> Iterator[None]:
    """Every call of a model in the block has a span, which ends with the block at the latest."""
    spans = ModelCallSpans(tracing)
    token = _calls.set(spans)
    try:
        yield
    finally:
        _calls.reset(token)
        spans.close()


def _finish(span: OtelSpan, response: LLMResult) -> None:
    first = response.generations[0][0] if response.generations and response.generations[0] else None
    message = first.message if isinstance(first, ChatGeneration) else None
    usage = message.usage_metadata if isinstance(message, AIMessage) else None
    if usage:
        span.set(
            {
                SpanAttributes.LLM_TOKEN_COUNT_PROMPT: usage["input_tokens"],
                SpanAttributes.LLM_TOKEN_COUNT_COMPLETION: usage["output_tokens"],
                SpanAttributes.LLM_TOKEN_COUNT_TOTAL: usage["total_tokens"],
            }
        )
    if message is not None:
        span.content(_messages(SpanAttributes.LLM_OUTPUT_MESSAGES, [message]))
    elif first is not None:
        span.content({SpanAttributes.OUTPUT_VALUE: first.text})


def _messages(prefix: str, messages: Sequence[BaseMessage]) -> dict[str, Attribute]:
    """The last `LISTED` of `messages` as OpenInference has them."""
    found: dict[str, Attribute] = {}
    for number, message in enumerate(messages[-LISTED:]):
        place = f"{prefix}.{number}"
        found[f"{place}.{MessageAttributes.MESSAGE_ROLE}"] = _ROLES.get(message.type, message.type)
        found[f"{place}.{MessageAttributes.MESSAGE_CONTENT}"] = str(message.text)
    return found


# Spans around what has no callbacks of its own: embedding models, and the rerankers inside a knowledge base.


@dataclass
class TracedEmbeddings(Embeddings):
    """An embedding model whose calls are spans. The vectors are never told."""

    model: Embeddings
    name: str
    tracing: OtelTracing

    @override
    def embed_query(self, text: str) -> list[float]:
        with self._span([text]):
            return self.model.embed_query(text)

    @override
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        with self._span(texts):
            return self.model.embed_documents(texts)

    @override
    async def aembed_query(self, text: str) -> list[float]:
        with self._span([text]):
            return await self.model.aembed_query(text)

    @override
    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        with self._span(texts):
            return await self.model.aembed_documents(texts)

    def _span(self, texts: Sequence[str]) -> AbstractContextManager[OtelSpan]:
        known = {SpanAttributes.EMBEDDING_MODEL_NAME: self.name, **own(texts=len(texts))}
        content = {
            f"{SpanAttributes.EMBEDDING_EMBEDDINGS}.{number}.{EmbeddingAttributes.EMBEDDING_TEXT}": text
            for number, text in enumerate(texts[:LISTED])
        }
        return self.tracing.span("embed", "EMBEDDING", known, content)


def with_embedding_spans(embedder: Embedder, settings: TracingSettings) -> Embedder:
    """`embedder`, whose calls are spans."""
    if isinstance(embedder.model, TracedEmbeddings):
        return embedder
    return replace(embedder, model=TracedEmbeddings(embedder.model, embedder.name, tracing_of(settings)))


@dataclass(frozen=True)
class TracedReranker:
    """A reranker of a knowledge base whose calls are spans."""

    reranker: Reranker
    tracing: OtelTracing

    async def __call__(self, query: str, candidates: Sequence[SourceResult], /) -> Sequence[float]:
        """See `Reranker`."""
        with self.tracing.span("rerank", "RERANKER", content={RerankerAttributes.RERANKER_QUERY: query}) as span:
            scores: Sequence[float] = await call_chain(self.reranker, query, candidates)
            judged = _judged(candidates, scores)
            span.set(own(results=len(judged)))
            set_documents(span, RerankerAttributes.RERANKER_OUTPUT_DOCUMENTS, judged)
            return scores


def _judged(candidates: Sequence[SourceResult], scores: Any) -> list[ToldDocument]:
    """The candidates as `set_documents` takes them; none when the scores are none, of which the caller tells."""
    try:
        numbers = [float(score) for score in scores]
    except (TypeError, ValueError):
        return []
    pairs = zip(candidates, numbers, strict=False)
    return [{"id": one.source_id, "score": number, "text": one.content} for one, number in pairs]


def with_reranker_spans(chains: QueryChains, reranker: Reranker, settings: TracingSettings) -> QueryChains:
    """`chains` with `reranker`, which has spans."""
    return replace(chains, reranker=TracedReranker(reranker, tracing_of(settings)))


_log = logging.getLogger(__name__)
_PLAIN = Step()


class TracedStateGraph(StateGraph[Any, Any, Any, Any]):
    """A builder that puts each step into a span.

    Args:
        settings: whether content goes into the spans.
        evidence: where the references in the state lead; None for a graph without evidence.
        schemas: the arguments of every `StateGraph`.
    """

    def __init__(self, settings: TracingSettings, evidence: EvidenceStore | None, *schemas: Any, **more: Any) -> None:
        super().__init__(*schemas, **more)
        self._tracing = tracing_of(settings)
        self._evidence = evidence

    def add_node(self, node: Any, action: Any = None, **options: Any) -> Any:
        """As LangGraph's; what is no coroutine function under a name of its own, such as a graph, is left as it is."""
        if isinstance(node, str) and inspect.iscoroutinefunction(action):
            action = traced_step(node, action, self._tracing, self._evidence)
        return super().add_node(node, action, **options)


def traced_step(
    name: str, step: Callable[..., Awaitable[Any]], tracing: OtelTracing, evidence: EvidenceStore | None
) -> Callable[..., Awaitable[Any]]:
    """`step` in a span called `name`, with the same signature."""
    told = STEPS.get(name, _PLAIN)

    @functools.wraps(step)
    async def traced(state: Any, *args: Any, **kwargs: Any) -> Any:
        with tracing.span(name, told.kind) as span, model_call_spans(tracing):
            update = await step(state, *args, **kwargs)
            await _describe(name, told, span, state, update, kwargs.get("runtime"), evidence)
            return update

    return traced


def with_work_span(name: str, work: Work, settings: TracingSettings) -> Work:
    """`work` in a span called `name`."""
    step, tracing = WORKS.get(name, WORK), tracing_of(settings)

    async def traced(view: View) -> Change:
        with tracing.span(name, step.kind) as span:
            change = await work(view)
            known = {**view.state.get("bodies", {}), **view.known, **change.records}
            state = {**view.state, "ranking": {"refs": view.refs}, "bodies": known}
            update = {"ranking": {"refs": change.refs, "strategies": change.ran}}
            await _describe(name, step, span, state, update, view.runtime, view.parts.evidence)
            return change

    return traced


async def _describe(
    name: str, step: Step, span: Span, state: Any, update: Any, runtime: Any, evidence: EvidenceStore | None
) -> None:
    """Say on `span` what came of the step. A slip here must not cost a turn."""
    if step.describe is None or not isinstance(update, Mapping):
        return
    try:
        records: dict[str, EvidenceRecord] = {}
        if step.refs is not None and evidence is not None:
            keys = [ref[0] for ref in step.refs(state, update)]
            in_state = {**state.get("bodies", {}), **update.get("bodies", {})}
            records = await evidence.load(runtime.store, keys, in_state, scope=None)
        info = getattr(runtime, "execution_info", None)
        step.describe(span, Done(state, update, info.thread_id if info else None, records, current_run.get()))
    except Exception:
        _log.warning("The span of %s says less than it could.", name, exc_info=True)
