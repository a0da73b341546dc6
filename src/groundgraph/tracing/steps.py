"""What the span of each step says, beside its name and how long it took."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from openinference.semconv.trace import OpenInferenceMimeTypeValues, RerankerAttributes, SpanAttributes

from groundgraph.core.evidence import EvidenceRecord
from groundgraph.core.turn_values import Ref
from groundgraph.tracing.span import Attribute, Span
from groundgraph.tracing.spans import ToldDocument, set_documents

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
    # A run that was resumed did not begin with `begin_turn`.
    _name_run(done, done.state["turn"])
    provenance = done.update["provenance"]
    done.run.set(
        own(
            outcome=done.update["outcome"],
            citations=len(done.update["citations"]),
            flags=len(done.update["support"]["flags"]),
            notes=len(done.update["notes"]),
        )
    )
    _set_counts(done, provenance)
    done.run.content({SpanAttributes.OUTPUT_VALUE: done.update["answer"]})


def give_context(span: Span, done: Done) -> None:  # noqa: ARG001 - it tells of the whole run
    """What came of the retrieval, on the whole run."""
    _name_run(done, done.state["turn"])
    done.run.set(own(outcome=done.update["outcome"], notes=len(done.update["notes"])))
    _set_counts(done, done.update["provenance"])
    done.run.content({SpanAttributes.OUTPUT_VALUE: done.update["context"]})


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


def _set_counts(done: Done, provenance: Mapping[str, Any]) -> None:
    retrievals = list(done.state.get("retrievals", {}).values())
    results = done.state["ranking"].get("refs", []) if done.state.get("ranking") else []
    calls = provenance.get("models", [])
    done.run.set(
        own(
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
    **{
        name: Step(describe=answer)
        for name in (
            "answer_structured",
            "answer_conversational",
            "answer_hybrid",
            "report_absence",
            "repair_answer",
            "review_answer",
        )
    },
    **{
        name: Step(describe=ingest_step)
        for name in (
            "load_documents",
            "cut_chunks",
            "write_qualifying_texts",
            "write_matching_texts",
            "embed_texts",
            "write_documents",
        )
    },
    "finish_ingest": Step(describe=finish_ingest),
}
"""By the name of the step; any other step has a span of kind CHAIN that says nothing more."""

WORK = Step(describe=ranked)
WORKS = {"rerank_results": Step("RERANKER", rerank_results, _reranked)}
"""By the name of the work of `process_results`; any other is told about as `WORK`."""
