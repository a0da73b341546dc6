"""Every query of a set through the retrieval graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from groundgraph.chains.citations import answerable
from groundgraph.core.errors import GroundGraphError
from groundgraph.core.evidence import SourceResult
from groundgraph.core.settings import Settings, SourceEntry
from groundgraph.evals.dataset import Corpus, Query
from groundgraph.graph.retrieval import retrieval_graph

TOP_K = 50
GIVE_UP_AFTER = 20
KNOWLEDGE_BASE_KINDS = ("knowledge_base", "vector_kb")
_OWN_OPTIONS = ("path", "fields", "description")

# Called with the number of queries done and how many there are.
Progress = Callable[[int, int], None]


class EvaluationFailed(GroundGraphError):
    """No query could be asked as configured, so any figure would measure the outage."""


@dataclass(frozen=True)
class Answered:
    """What one query found.

    Attributes:
        query: its id.
        documents: the ids of the documents found, the best first, each at the rank of its best chunk.
        answerable: see `groundgraph.chains.citations.answerable`.
        failures: why sources, or the model that writes queries, failed; a sentence each.
    """

    query: str
    documents: tuple[str, ...]
    answerable: float
    failures: tuple[str, ...] = ()


def evaluation_settings(settings: Settings, bases: Mapping[str, Path], *, as_configured: bool) -> Settings:
    """`settings` with the knowledge bases `bases` (by name of the source) in place of the configured sources.

    A source keeps the weight, the timeout and the search options of the configured knowledge base of its name or, when
    there is just one on both sides, of that one. Filters are left out, since passages have no fields. Without
    `as_configured`, 50 results per source and no threshold.
    """
    entries = [entry for entry in settings.sources if entry.type in KNOWLEDGE_BASE_KINDS]
    by_name = {entry.name: entry for entry in entries}
    only = entries[0] if len(entries) == len(bases) == 1 else None
    retrieval: dict[str, Any] = {"scope_filters": {}}
    if not as_configured:
        retrieval |= {"top_k": TOP_K, "score_threshold": 0.0}
    return settings.model_copy(
        update={
            "sources": [_entry(name, path, by_name.get(name, only)) for name, path in bases.items()],
            "retrieval": settings.retrieval.model_copy(update=retrieval),
            "intent": settings.intent.model_copy(update={"default_filters": {}, "filters": {}}),
        }
    )


def _entry(name: str, path: Path, configured: SourceEntry | None) -> SourceEntry:
    kept: dict[str, Any] = {}
    if configured is not None:
        options = {key: value for key, value in configured.options.items() if key not in _OWN_OPTIONS}
        kept = {"weight": configured.weight, "timeout": configured.timeout, **options}
    return SourceEntry(type="knowledge_base", name=name, path=str(path.absolute()), **kept)


async def run_queries(
    settings: Settings, corpora: Iterable[Corpus], queries: Sequence[Query], on_progress: Progress | None = None
) -> list[Answered]:
    """What each of `queries` finds, in their order.

    Args:
        settings: see `evaluation_settings`; its sources are called as the corpora.
        corpora: which document a passage counts as.
        queries: what to ask.
        on_progress: called after each query.

    Raises:
        ConfigurationError: the settings cannot work.
        EvaluationFailed: every query failed, or each of the first 20, in which case the others are not asked.
    """
    documents = {corpus.name: {passage.id: passage.document for passage in corpus.passages} for corpus in corpora}
    graph = retrieval_graph(settings)
    answered: list[Answered] = []
    try:
        for number, query in enumerate(queries, 1):
            found = await graph.ainvoke({"messages": _messages(query)})
            answered.append(_answered(query, found, documents))
            if number in (GIVE_UP_AFTER, len(queries)):
                _check_that_some_worked(answered)
            if on_progress:
                on_progress(number, len(queries))
    finally:
        await graph.resources.close()
    return answered


def _check_that_some_worked(answered: Sequence[Answered]) -> None:
    if all(one.failures for one in answered):
        first = answered[0]
        reason = f"Query '{first.query}': {first.failures[0]}"
        raise EvaluationFailed(f"Every query failed, so nothing was measured. {reason}")


def _messages(query: Query) -> list[BaseMessage]:
    return [
        HumanMessage(text, id=f"turn-{number}") if role == "user" else AIMessage(text, id=f"turn-{number}")
        for number, (role, text) in enumerate(query.turns)
    ]


def _answered(query: Query, found: Mapping[str, Any], documents: Mapping[str, Mapping[str, str]]) -> Answered:
    evidence = [_result(row) for row in found["evidence"]]
    ranked = dict.fromkeys(documents[result.source_name][result.metadata["document"]] for result in evidence)
    return Answered(query.id, tuple(ranked), answerable(query.question, evidence), _failures(found["provenance"]))


def _failures(record: Mapping[str, Any]) -> tuple[str, ...]:
    """What went wrong in a retrieval: after a failed model call, for example, the message itself was searched for."""
    sources = [
        f"{name}: {report.get('error') or report['status']}"
        for name, report in record["sources"].items()
        if report["status"] != "ok"
    ]
    models = [f"model {call.get('model', '')}: {call['error']}" for call in record["models"] if call.get("error")]
    return (*sources, *models)


def _result(row: Mapping[str, Any]) -> SourceResult:
    return SourceResult(
        row["text"], row["source_id"], row["source_name"], row["source_type"], row["relevance"], row["metadata"]
    )
