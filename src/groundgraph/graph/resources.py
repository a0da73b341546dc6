"""The live objects behind a graph: sources, models, evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from groundgraph.answers.structured_answer import AnswerTemplates
from groundgraph.core.chain import IDENTITY, QueryChains, Reranker
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import ConfigurationError, FilterInvalid, Problem, refuse_any
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.filters import check_filters
from groundgraph.core.registry import nearest
from groundgraph.core.schema import SourceSchema
from groundgraph.core.secret_mask import know_secrets
from groundgraph.graph.configured_models import configured_embedder, configured_extractor, configured_judge
from groundgraph.graph.parts import GraphParts, Models, check_given
from groundgraph.models.chat_model import configured_model, named_model, without_thinking
from groundgraph.nodes.node import scope_problems
from groundgraph.prompts import Prompts
from groundgraph.settings.idle_settings import Passed, idle_settings, two_rerankers
from groundgraph.settings.knowledge_base import ChainSettings
from groundgraph.settings.load_settings import GivenSettings, settings_of
from groundgraph.settings.search import IntentSettings
from groundgraph.settings.settings import Settings
from groundgraph.sources.contract import GroundedSource
from groundgraph.tracing.tracing import traced_chains

if TYPE_CHECKING:
    from langchain_core.documents import BaseDocumentCompressor
    from langchain_core.language_models import BaseChatModel

    from groundgraph.answers.clustering import ClusterMethod
    from groundgraph.answers.extract_intent import AskExtractor
    from groundgraph.answers.strategy_chain import Rerank
    from groundgraph.core.chain import SupportJudge
    from groundgraph.nodes.second_opinion import AskJudge


@dataclass(frozen=True)
class Resources:
    """What the nodes of one graph work with. Nothing here is opened before a run needs it."""

    settings: Settings
    sources: dict[str, GroundedSource]
    schemas: dict[str, SourceSchema | None]
    prompts: Prompts
    templates: AnswerTemplates
    evidence: EvidenceStore
    chat_model: BaseChatModel | None = None
    query_model: BaseChatModel | None = None
    extractor: AskExtractor | None = None
    embedder: Embedder | None = None
    query_chains: QueryChains = IDENTITY
    rerankers: dict[str, Rerank] = field(default_factory=dict)
    clustering: list[ClusterMethod] = field(default_factory=list)
    ask_judge: AskJudge | None = None
    owned: tuple[GroundedSource, ...] = field(default=())

    @classmethod
    def build(cls, given: GivenSettings, **parts: Unpack[GraphParts]) -> Resources:
        """The resources that the settings describe; `parts` stand beside the sources and in place of the models.

        Raises:
            ConfigurationError: something cannot work; every problem is listed.
        """
        settings = settings_of(given)
        sources, embeddings = parts.get("sources"), parts.get("embeddings")
        reranker, extractor = parts.get("reranker"), parts.get("extractor")
        check_given(parts)
        judge = parts.get("support_judge")
        know_secrets(parts.get("chat_model"), parts.get("query_model"), embeddings, reranker, extractor, judge)
        prompts = Prompts.of(settings)
        chat, queries = configured_models(settings, parts)
        embedder = configured_embedder(settings, embeddings)
        chains = _query_chains(settings, prompts, queries)
        configured: list[GroundedSource] = []
        if settings.sources or settings.knowledge_base is not None or not sources:
            # Like what else is configured by a few it is loaded by those: a process is to give its first answer soon.
            from groundgraph.graph.configured_sources import configured_sources, with_topic_indices

            passed = embeddings is not None
            bare = configured_sources(settings, embedder, chains, from_python=sources, passed_embedder=passed)
            configured = with_topic_indices(bare, settings, prompts, queries)
        by_name = _by_name([*configured, *(sources or ())])
        schemas = _schemas(by_name)
        has_extractor = extractor is not None or settings.intent.extraction_config is not None
        _check(settings, schemas, Passed(queries is not None or has_extractor, reranker is not None))
        if reranker is not None and two_rerankers(settings.chains, merged=True):
            raise ConfigurationError(
                [Problem("chains.query.reranker", "there are two rerankers: this, and `reranker=`")]
            )
        return cls(
            settings=settings,
            sources=by_name,
            schemas=schemas,
            prompts=prompts,
            templates=AnswerTemplates.compile(settings.synthesis, prompts),
            evidence=EvidenceStore(parts.get("store")),
            chat_model=chat,
            query_model=queries,
            extractor=configured_extractor(settings, schemas, prompts, extractor),
            embedder=embedder,
            query_chains=chains,
            rerankers=_rerankers(settings, prompts, queries, reranker),
            clustering=_clustering(settings, embedder),
            ask_judge=_judge(settings, prompts, chat, judge),
            owned=tuple(configured),
        )

    async def close(self) -> None:
        """Close the sources that were built from the configuration; those passed in belong to whoever made them."""
        for source in self.owned:
            await source.close()


def _schemas(sources: Mapping[str, GroundedSource]) -> dict[str, SourceSchema | None]:
    schemas = {name: source.get_schema() for name, source in sources.items()}
    # One of another type would hold no filter, or fail in the midst of a turn.
    wrong = [
        Problem(name, f"its get_schema() gives a {type(schema).__name__}; a schema is a SourceSchema, or None")
        for name, schema in schemas.items()
        if not isinstance(schema, SourceSchema | None)
    ]
    refuse_any(wrong)
    return schemas


def _query_chains(settings: Settings, prompts: Prompts, model: BaseChatModel | None) -> QueryChains:
    if settings.chains == ChainSettings():
        return IDENTITY
    from groundgraph.ingest.builtin_chains import query_chains

    return traced_chains(query_chains(settings, prompts, model), settings.tracing)


def _rerankers(
    settings: Settings,
    prompts: Prompts,
    model: BaseChatModel | None,
    passed: Reranker | BaseDocumentCompressor | None,
) -> dict[str, Rerank]:
    if passed is None and not settings.reranker.enabled:
        return {}
    from groundgraph.graph.configured_reranker import configured_rerankers

    return configured_rerankers(settings, prompts, model, passed)


def _clustering(settings: Settings, embedder: Embedder | None) -> list[ClusterMethod]:
    if not settings.result_processing.cluster_steps:
        return []
    from groundgraph.graph.configured_reranker import configured_clustering

    return configured_clustering(settings, embedder)


def _judge(
    settings: Settings,
    prompts: Prompts,
    chat_model: BaseChatModel | None,
    passed: BaseChatModel | SupportJudge | str | None,
) -> AskJudge | None:
    if settings.citation_check.policies["entailment"] != "off":
        return configured_judge(settings, prompts, chat_model, passed)
    if passed is not None:
        raise ConfigurationError([Problem("support_judge", "has no effect without citation_check.entailment")])
    return None


def configured_models(settings: Settings, models: Models) -> tuple[BaseChatModel | None, BaseChatModel | None]:
    """The model that writes answers, and the one that writes queries and works in the chains of a knowledge base.

    Those of `models` stand in place of what the settings name.

    Raises:
        ConfigurationError: a model cannot be built.
    """
    chat = named_model(models.get("chat_model"), "chat_model") or configured_model(settings.llm, "llm")
    own = named_model(models.get("query_model"), "query_model") or configured_model(settings.query_llm, "query_llm")
    queries = own or without_thinking(chat)
    return chat, queries or chat


def _by_name(sources: Sequence[GroundedSource]) -> dict[str, GroundedSource]:
    by_name: dict[str, GroundedSource] = {}
    for source in sources:
        if source.name in by_name:
            raise ConfigurationError([Problem("sources", f"two sources are called '{source.name}'")])
        by_name[source.name] = source
    return by_name


def _check(settings: Settings, schemas: dict[str, SourceSchema | None], passed: Passed) -> None:
    intent = settings.intent
    problems = [
        problem
        for key, filters in (("default_filters", intent.default_filters), ("filters", intent.filters))
        for problem in _filter_problems(f"intent.{key}", filters, schemas)
    ]
    problems += [Problem(".".join(map(str, key)), message) for key, message in idle_settings(settings, passed)]
    problems += scope_problems(settings.retrieval.scope_filters, intent.default_filters, schemas)
    problems += _mode_problems(intent)
    problems += _ask_back_problems(settings, schemas)
    if settings.synthesis.evidence_per_source and settings.result_processing.cluster_steps:
        problems.append(
            Problem("synthesis.evidence_per_source", "a cluster holds evidence of several sources; drop one")
        )
    refuse_any(problems)


def _ask_back_problems(settings: Settings, schemas: dict[str, SourceSchema | None]) -> list[Problem]:
    """The fields that nobody declares, so that no choice among their values could narrow a search."""
    declared = sorted({name for schema in schemas.values() if schema for name in schema.fields})
    asks = settings.synthesis.ask_back
    return [
        Problem("synthesis.ask_back.field", f"no source declares a field '{name}'.{nearest(name, declared)}")
        for name in (asks.fields if asks else ())
        if name not in declared
    ]


def _mode_problems(intent: IntentSettings) -> list[Problem]:
    problems = [
        Problem(f"intent.{name}", f"belongs to mode '{mode}', but the mode is '{intent.mode}'")
        for name, mode in (("filters", "static"), ("text_queries", "static"), ("template", "template"))
        if getattr(intent, name) and intent.mode != mode
    ]
    if intent.mode == "template" and not intent.template:
        problems.append(Problem("intent.template", "mode 'template' needs a template"))
    if intent.mode == "static" and not (intent.text_queries or intent.include_message_as_query):
        told = "mode 'static' needs queries, or include_message_as_query: true"
        problems.append(Problem("intent.text_queries", told))
    return problems


def _filter_problems(
    key: str, filters: dict[str, dict[str, Any]], schemas: dict[str, SourceSchema | None]
) -> list[Problem]:
    problems: list[Problem] = []
    for name, fields in filters.items():
        if name not in schemas:
            known = list(schemas)
            message = f"there is no source '{name}'.{nearest(name, known)} Known: {', '.join(known)}."
            problems.append(Problem(f"{key}.{name}", message))
            continue
        try:
            check_filters(schemas[name], fields, source=name)
        except FilterInvalid as error:
            problems.append(Problem(f"{key}.{name}", str(error)))
    return problems
