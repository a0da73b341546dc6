"""Keys that belong to a step or a store which the same settings leave off: set there, they would do nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from groundgraph.core.registry import nearest
from groundgraph.core.secret_mask import is_secret_key
from groundgraph.settings.answers import RerankerSettings
from groundgraph.settings.knowledge_base import ChainChoice, ChainSettings
from groundgraph.settings.search import MODEL_STAGES, Stage
from groundgraph.settings.section import Location
from groundgraph.settings.settings import Settings

# What about the chains of the settings contradicts the rest of them.

_OWN = ("documents", "web_pages", "query")


def chain_conflicts(settings: Settings) -> Iterator[tuple[Location, str]]:
    """Where in the settings, and what: chains of no kind of data, a schema with the name of another section, two
    rerankers."""
    schemas = list(settings.knowledge_base.schemas) if settings.knowledge_base else []
    for name in settings.chains.model_extra or {}:
        if name not in schemas:
            known = [*_OWN, *schemas]
            yield (
                ("chains", name),
                f"is no kind of data.{nearest(name, known)} Known: {', '.join(known)}; "
                "further kinds are those of knowledge_base.schemas.",
            )
    for name in set(_OWN) & set(schemas):
        yield ("knowledge_base", "schemas", name), f"'{name}' is a section of `chains`; give the schema another name"
    if two_rerankers(settings.chains, merged=settings.reranker.enabled):
        yield (
            ("chains", "query", "reranker"),
            "there are two rerankers: this one, and the one that `reranker.enabled` runs after the merge. "
            "Set one of them to identity or to false.",
        )


def two_rerankers(chains: ChainSettings, *, merged: bool) -> bool:
    """Whether the query chains rerank although a reranker runs after the merge, as `merged` says (decision 4)."""
    return merged and chain_name(chains.query.reranker) != "identity"


def chain_name(choice: ChainChoice) -> str:
    """The name of the chain that is chosen; empty when a mapping names none."""
    return choice if isinstance(choice, str) else str(choice.get("name", ""))


@dataclass(frozen=True)
class Passed:
    """What a graph has beside its settings, known when it is built.

    Attributes:
        queries: a model that writes queries or fills in intents, wherever it comes from.
        reranker: one from Python.
    """

    queries: bool = False
    reranker: bool = False


_ANYTHING = tuple(Passed(*given) for given in product((False, True), repeat=2))
_On = Callable[[Settings, Passed], bool]


def _enhanced(stage: Stage) -> tuple[_On, str]:
    return lambda s, _: stage in s.stages, f"enhanced_autonomous_retrieval: true and its stage '{stage}'"


def _fuses(settings: Settings, _: Passed) -> bool:
    return "fusion" in settings.stages and settings.retrieval.deduplicate


def _extracts(settings: Settings, passed: Passed) -> bool:
    return passed.queries and (settings.intent.mode == "extract" or settings.intent.extraction_config is not None)


def _clusters(option: str) -> tuple[_On, str]:
    def on(settings: Settings, _: Passed) -> bool:
        given = settings.result_processing.cluster_strategy
        steps = given if isinstance(given, list) else [] if given is None else [given]
        return any(getattr(step, option, None) is None for step in steps)

    return on, f"a step of result_processing.cluster_strategy that has no {option} of its own"


def _reranks(settings: Settings, passed: Passed) -> bool:
    return settings.reranker.enabled or passed.reranker


def _reranks_by(*methods: str) -> tuple[_On, str]:
    def on(settings: Settings, _: Passed) -> bool:
        chain = settings.reranker
        # A step of a chain may have its own value: the section's serves the others.
        return chain.enabled and (not methods or any(step.method in methods for step in chain.steps))

    return on, "reranker.enabled: true" + (f" and the type {' or '.join(methods)}" if methods else "")


def _rotates(settings: Settings, _: Passed) -> bool:
    return settings.result_processing.rotation is not None or "rotation" in settings.stages


def _leaves_out(settings: Settings, passed: Passed) -> bool:
    return settings.result_processing.relative_threshold is not None or _rotates(settings, passed)


def _cascade(name: str = "", value: Any = None) -> tuple[_On, str]:
    def on(settings: Settings, _: Passed) -> bool:
        entries = [entry.options for entry in settings.sources if entry.type == "cascade"]
        shared = getattr(settings.retriever, name) if name else value
        own = [shared if options.get(name) is None else options[name] for options in entries]
        return value in own

    return on, "a source of type cascade" + (f" that has {name}: {str(value).lower()}" if name else "")


def _works_with_queries(settings: Settings, _: Passed) -> bool:
    """Whether the query model may be called at all. A topic index may be told to, by any intent."""
    intent = settings.intent
    own = intent.mode == "extract" and intent.extraction_config is None
    asks = settings.synthesis.ask_back
    looks = settings.retrieval.second_look or bool(asks and asks.model is True)
    stages = bool(settings.stages & MODEL_STAGES) or settings.category_router.enabled or looks
    return own or stages or _judges(settings.reranker) or _has_own_chains(settings.chains) or settings.topic_indices


def _judges(reranker: RerankerSettings) -> bool:
    return reranker.enabled and any(
        step.method not in ("cohere", "fastembed", "langchain", "identity") for step in reranker.steps
    )


def _has_own_chains(chains: ChainSettings) -> bool:
    """Whether a chain is chosen in place of a default one: it may ask a model."""
    plain, query = ChainSettings(), chains.query
    kinds = (chains.documents, chains.web_pages, *(chains.model_extra or {}).values())
    asks = any(getattr(query, name) != getattr(plain.query, name) for name in ("transformer", "reranker", "filter"))
    return asks or any(kind != plain.documents for kind in kinds)


def _filters(settings: Settings, _: Passed) -> bool:
    return chain_name(settings.chains.query.filter) == "basic"


def _ranks_matches(settings: Settings) -> bool:
    return chain_name(settings.chains.query.reranker) != "identity"


_EXTRACT = "intent.mode: extract and a model"
_EMBEDS = _cascade("use_embeddings", True)

# By key or section: whether it has an effect, and what gives it one. Every other key always has one, or is refused by
# its own section: see tests/core/test_idle_settings.py, which asks for a new key to be declared.
OWNED: dict[Location, tuple[_On, str]] = {
    ("query_llm",): (_works_with_queries, "anything that asks a query model, such as intent.mode: extract"),
    ("intent", "num_queries"): (_extracts, _EXTRACT),
    ("intent", "use_conversation_context"): (_extracts, _EXTRACT),
    ("intent", "include_message_as_query"): (lambda s, _: s.intent.mode == "static", "intent.mode: static"),
    ("intent", "follow_ups"): (
        lambda s, passed: s.intent.mode == "extract" and not passed.queries,
        "intent.mode: extract that has no model",
    ),
    ("intent", "parts"): (
        lambda s, _: s.intent.mode != "static" or s.intent.include_message_as_query,
        "intent.include_message_as_query: true",
    ),
    ("enhanced_retrieval", "stages"): (
        lambda s, _: s.enhanced_autonomous_retrieval,
        "enhanced_autonomous_retrieval: true",
    ),
    ("enhanced_retrieval", "rewrite_min_words"): _enhanced("rewrite"),
    ("enhanced_retrieval", "min_complexity_length"): _enhanced("complexity"),
    ("enhanced_retrieval", "max_sub_queries"): _enhanced("decomposition"),
    ("enhanced_retrieval", "top_k_per_sub_query"): _enhanced("decomposition"),
    ("enhanced_retrieval", "rrf_k"): (_fuses, f"{_enhanced('fusion')[1]}, and retrieval.deduplicate: true"),
    ("enhanced_retrieval", "max_kb_chars"): _enhanced("budget"),
    ("enhanced_retrieval", "max_kb_tokens"): _enhanced("budget"),
    ("category_router", "top_k"): (lambda s, _: s.category_router.enabled, "category_router.enabled: true"),
    ("category_router", "fallback_categories"): (
        lambda s, _: bool(s.category_router.intents) and not s.category_router.enabled,
        "category_router.intents and category_router.enabled: false",
    ),
    ("tracing", "content"): (lambda s, _: s.tracing.enabled, "tracing.enabled: true"),
    ("fast_path", "languages"): (
        lambda s, _: s.fast_path.enabled or "backfill" in s.stages,
        "fast_path.enabled: true",
    ),
    ("result_processing", "min_results"): (
        _leaves_out,
        "result_processing.relative_threshold or result_processing.rotation",
    ),
    ("result_processing", "rotation_turns"): (_rotates, "result_processing.rotation"),
    ("result_processing", "cluster_threshold"): _clusters("threshold"),
    ("result_processing", "cluster_min_size"): _clusters("min_size"),
    ("result_processing", "rrf_k"): (lambda s, _: s.retrieval.deduplicate, "retrieval.deduplicate: true"),
    ("reranker", "threshold"): (_reranks, "reranker.enabled: true, or a reranker that is passed in"),
    ("reranker", "candidates_count"): (_reranks, "reranker.enabled: true, or a reranker that is passed in"),
    ("reranker", "type"): _reranks_by(),
    ("reranker", "provider"): _reranks_by(),
    ("reranker", "model"): _reranks_by("cohere", "fastembed", "langchain"),
    ("reranker", "folder"): _reranks_by("fastembed"),
    ("reranker", "base_url"): _reranks_by("cohere"),
    ("reranker", "compressor"): _reranks_by("langchain"),
    ("reranker", "options"): _reranks_by(),
    ("chains", "query", "candidates_count"): (
        lambda s, _: _ranks_matches(s) or chain_name(s.chains.query.filter) != "identity",
        "chains.query.reranker or chains.query.filter",
    ),
    ("chains", "query", "match_cutoff"): (_filters, "chains.query.filter: basic"),
    ("chains", "query", "rerank_cutoff"): (
        lambda s, passed: _filters(s, passed) and _ranks_matches(s),
        "chains.query.filter: basic and a chains.query.reranker",
    ),
    ("knowledge_base", "weaviate"): (
        lambda s, _: s.knowledge_base is not None and s.knowledge_base.backend == "weaviate",
        "knowledge_base.backend: weaviate",
    ),
    ("retriever", "embedder_model"): _EMBEDS,
    ("retriever", "vector_weight"): _EMBEDS,
    ("retriever", "thresholds", "semantic"): _EMBEDS,
    ("retriever", "languages"): _cascade("lemmatizer", "dictionary"),
    **{
        ("retriever", name): _cascade()
        for name in ("use_embeddings", "default_top_k", "stages", "stop_at_first_hit", "ordering", "lemmatizer")
    },
    ("retriever", "thresholds", "exact"): _cascade(),
    ("retriever", "thresholds", "lemma"): _cascade(),
    ("checkpointer", "path"): (lambda s, _: s.checkpointer.type == "sqlite", "checkpointer.type: sqlite"),
    ("checkpointer", "pool_size"): (lambda s, _: s.checkpointer.type == "postgres", "checkpointer.type: postgres"),
    ("store", "path"): (lambda s, _: s.store.type == "sqlite", "store.type: sqlite"),
    ("store", "pool_size"): (lambda s, _: s.store.type == "postgres", "store.type: postgres"),
}


def idle_settings(
    settings: Settings, passed: Passed | None = None, *, as_default: bool = False
) -> Iterator[tuple[Location, str]]:
    """Each key that is set and would do nothing, and what would give it an effect.

    Args:
        settings: as they were read.
        passed: what the graph has beside them: only the keys for which that decides are looked at, as the others were
            when the settings were read. Absent: the keys that do nothing whatever is passed.
        as_default: those whose value is the default, which is harmless, in place of those that ask for something.
    """
    for location, (is_on, switch) in OWNED.items():
        whatever = not any(is_on(settings, given) for given in _ANYTHING)
        if not whatever if passed is None else (whatever or is_on(settings, passed)):
            continue
        for key, value, default in _set_below(settings, location):
            if (value == default) is as_default:
                yield key, f"has no effect without {switch}"


def _set_below(settings: Settings, location: Location) -> Iterator[tuple[Location, Any, Any]]:
    """What is set at `location` or right below it, with its value and its default."""
    section: Any = settings
    for part in location[:-1]:
        section = getattr(section, str(part))
        if section is None:
            return
    name = str(location[-1])
    if name not in section.model_fields_set:
        return
    value = getattr(section, name)
    usual = type(section).model_fields[name].get_default(call_default_factory=True)
    if usual is None or not hasattr(value, "model_fields_set"):
        yield location, value, usual
        return
    # An environment may hold the keys of services that are not in use.
    for inner in sorted(name for name in value.model_fields_set if not is_secret_key(name)):
        default = type(value).model_fields[inner].get_default(call_default_factory=True)
        yield (*location, inner), getattr(value, inner), default
