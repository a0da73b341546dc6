"""Every query of a set through the retrieval graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import GroundGraphError
from groundgraph.core.evidence import NEEDS
from groundgraph.evals.corpus_base import PASSAGE, SqlCorpus, weaviate_prefix
from groundgraph.evals.dataset import Corpus, Query
from groundgraph.graph.retrieval import retrieval_graph
from groundgraph.settings.search import SourceEntry
from groundgraph.settings.settings import Settings

TOP_K = 50
GIVE_UP_AFTER = 20
KNOWLEDGE_BASE_KINDS = ("knowledge_base", "vector_kb")
SQL_KINDS = ("sql", "database")
# What puts results into another order than that of their relevance, for the sake of a model that reads them.
_IN_ORDER = {"reorder": None, "cluster_strategy": None, "rotation": None}
_REORDERING = frozenset({"reorder", "rotation"})
_OWN_OPTIONS = ("path", "prefix", "fields", "description")
COMPUTED = frozenset(["computed", NEEDS])
_SEARCH_OPTIONS = ("text_index", "pool_size", "statement_timeout", "vector_weight")
WEIGHT = "vector_weight"

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
        relevances: of each of `documents` that of its best chunk.
        answerable: `support.answerable` of a turn; see `groundgraph.answers.agreement`.
        failures: why sources or models failed; a sentence each.
    """

    query: str
    documents: tuple[str, ...]
    relevances: tuple[float, ...]
    answerable: float
    failures: tuple[str, ...] = ()


def evaluation_settings(
    settings: Settings, bases: Mapping[str, Path] | Mapping[str, SqlCorpus], *, as_configured: bool
) -> Settings:
    """`settings` with `bases` (by name of the source) in place of the configured sources.

    A base is the file of a knowledge base, or a table. Its source keeps the weight, the timeout and the search options
    of the configured one of its kind and name or, when there is just one on both sides, of that one. Filters are left
    out, since passages have no fields. Without `as_configured`, 50 results per source and no thresholds.
    """
    kinds = SQL_KINDS if any(isinstance(base, SqlCorpus) for base in bases.values()) else KNOWLEDGE_BASE_KINDS
    entries = [entry for entry in settings.sources if entry.type in kinds]
    by_name = {entry.name: entry for entry in entries}
    only = entries[0] if len(entries) == len(bases) == 1 else None
    retrieval: dict[str, Any] = {"scope_filters": {}}
    if not as_configured:
        retrieval |= {"top_k": TOP_K, "score_threshold": 0.0, "answerable_threshold": None}
    return settings.model_copy(
        update={
            "sources": [_entry(settings, name, base, by_name.get(name, only)) for name, base in bases.items()],
            "knowledge_base": settings.knowledge_base if kinds is KNOWLEDGE_BASE_KINDS else None,
            "retrieval": settings.retrieval.model_copy(update=retrieval),
            "intent": settings.intent.model_copy(update={"default_filters": {}, "filters": {}}),
            "result_processing": settings.result_processing.model_copy(update=_IN_ORDER),
            "enhanced_retrieval": settings.enhanced_retrieval.model_copy(
                update={"stages": sorted(settings.enhanced_retrieval.chosen - _REORDERING)}
            ),
        }
    )


def _entry(settings: Settings, name: str, base: Path | SqlCorpus, configured: SourceEntry | None) -> SourceEntry:
    if isinstance(base, SqlCorpus):
        return _sql_entry(name, base, configured)
    kept: dict[str, Any] = {WEIGHT: settings.knowledge_base.vector_weight} if settings.knowledge_base else {}
    if configured is not None:
        options = {key: value for key, value in configured.options.items() if key not in _OWN_OPTIONS}
        kept |= {"weight": configured.weight, "timeout": configured.timeout, **options}
        kept |= {"topic_index": configured.topic_index}
    prefix = weaviate_prefix(settings, base)
    where = {"prefix": prefix} if prefix else {"path": str(base.absolute())}
    return SourceEntry(type="knowledge_base", name=name, **{**kept, **where})


def _sql_entry(name: str, base: SqlCorpus, configured: SourceEntry | None) -> SourceEntry:
    kept: dict[str, Any] = {}
    if configured is not None:
        options = {key: value for key, value in configured.options.items() if key in _SEARCH_OPTIONS}
        kept = {"weight": configured.weight, "timeout": configured.timeout, **options}
    return SourceEntry(type="sql", name=name, **{**kept, **base.options()})


def has_topic_index(settings: Settings) -> bool:
    """Whether a knowledge base of `settings` is searched by topics."""
    shared = settings.knowledge_base.topic_index if settings.knowledge_base else None
    entries = [entry for entry in settings.sources if entry.type in KNOWLEDGE_BASE_KINDS]
    return shared is not None or any(entry.topic_index for entry in entries)


async def run_queries(
    settings: Settings,
    corpora: Iterable[Corpus],
    queries: Sequence[Query],
    on_progress: Progress | None = None,
    embedder: Embedder | None = None,
    *,
    chat_model: BaseChatModel | None = None,
) -> list[Answered]:
    """What each of `queries` finds, in their order.

    Args:
        settings: see `evaluation_settings`; its sources are called as the corpora.
        corpora: which document a passage counts as.
        queries: what to ask.
        on_progress: called after each query.
        embedder: the embedding model in place of the configured one.
        chat_model: the chat model in place of the configured one.

    Raises:
        ConfigurationError: the settings cannot work.
        EvaluationFailed: every query failed, or each of the first 20, in which case the others are not asked.
    """
    documents = {corpus.name: {passage.id: passage.document for passage in corpus.passages} for corpus in corpora}
    graph = retrieval_graph(settings, embeddings=embedder, chat_model=chat_model)
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
    ranked: dict[str, float] = {}
    for row in found["evidence"]:
        if not COMPUTED.isdisjoint(row["metadata"]):
            continue  # a statement of a SQL source about its rows, and no passage
        document = documents[row["source_name"]][_passage_of(row["metadata"])]
        ranked[document] = max(row["relevance"], ranked.get(document, 0.0))
    record = found["provenance"]
    return Answered(query.id, tuple(ranked), tuple(ranked.values()), record["answerable"], failures_of(record))


def _passage_of(metadata: Mapping[str, Any]) -> str:
    """The passage that a chunk is: a document of its own, or a part of the one that an outline makes of a corpus."""
    return str(metadata.get(PASSAGE, metadata["document"]))


def failures_of(record: Mapping[str, Any]) -> tuple[str, ...]:
    """What went wrong in a retrieval or a turn: after a failed model call, say, the message itself was searched for."""
    sources = [
        f"{name}: {report.get('error') or report['status']}"
        for name, report in record["sources"].items()
        if report["status"] != "ok"
    ]
    models = [f"model {call.get('model', '')}: {call['error']}" for call in record["models"] if call.get("error")]
    degraded = [
        f"{name}: without its {told['part']}: {told['reason']}"
        for name, report in record["sources"].items()
        for told in report.get("degraded", [])
    ]
    return (*sources, *degraded, *models)
