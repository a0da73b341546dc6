"""The sources that the settings name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from groundgraph.core.chain import QueryChains
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.graph.knowledge_base_files import KNOWLEDGE_BASES, base_fields, weaviate_place, with_base_fields
from groundgraph.settings.settings import KnowledgeBaseSettings, Settings
from groundgraph.sources.contract import GroundedSource, SourceFactory, SourceOptions, source_types

# A source from its entry in a configuration, whatever a third party registered for its type.


def make_source(factory: SourceFactory | Callable[..., GroundedSource], entry: SourceOptions) -> GroundedSource:
    """What `factory` makes of `entry`: a function is given the entry, a class of a source its name and options.

    Raises:
        ConfigurationError: an option is unknown or has a bad value, or what was made is no source.
    """
    given: dict[str, Any] = {"name": entry.name, **entry.options}
    if isinstance(factory, type) and issubclass(factory, GroundedSource) and _takes_keywords(factory):
        try:
            inspect.signature(factory).bind(**given)
        except TypeError as error:
            raise ConfigurationError([Problem(entry.key, f"{factory.__name__}: {error}")]) from error
        made: Any = factory(**given)
    else:
        made = factory(entry)
    if not isinstance(made, GroundedSource):
        raise ConfigurationError([Problem(entry.key, f"what was registered for this type made no source but {made!r}")])
    return made


def _takes_keywords(source_class: type[GroundedSource]) -> bool:
    """Whether the class names its source by an argument `name`; one that does not takes the whole entry."""
    parameters = inspect.signature(source_class).parameters.values()
    return any(parameter.name == "name" or parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


def configured_sources(
    settings: Settings,
    embedder: Embedder | None,
    chains: QueryChains,
    *,
    from_python: Sequence[GroundedSource] | None,
    passed_embedder: bool,
) -> list[GroundedSource]:
    """The sources of the settings in their order; the knowledge base when neither they nor Python name one.

    Args:
        settings: the sections `sources` and `knowledge_base`.
        embedder: the embedding model, if there is one.
        chains: the query chains of knowledge bases.
        from_python: what Python passes in beside them; an empty list counts as no source.
        passed_embedder: whether `embedder` comes from Python.

    Raises:
        ConfigurationError: a source cannot be built, or there is none; every problem is listed.
    """
    built = _of_entries(settings, embedder, chains, passed_embedder=passed_embedder)
    if _searches_base(settings, nothing_else=not built and from_python is None):
        built.append(_knowledge_base(settings, embedder, chains))
    if not built and not from_python:
        told = (
            "there is nothing to search. Name a source, or leave `sources` out for the knowledge base in .groundgraph/."
        )
        raise ConfigurationError([Problem("sources", told)])
    return built


def _of_entries(
    settings: Settings, embedder: Embedder | None, chains: QueryChains, *, passed_embedder: bool
) -> list[GroundedSource]:
    built: list[GroundedSource] = []
    errors: list[ConfigurationError] = []
    for number, entry in enumerate(settings.sources):
        options = SourceOptions(entry.name, entry.options, settings.base_dir, f"sources[{number}]", embedder, chains)
        try:
            built.append(_of_entry(settings, number, options, passed_embedder=passed_embedder))
        except ConfigurationError as error:
            errors.append(error)
    if errors:
        problems = [problem for error in errors for problem in error.problems]
        raise errors[0] if len(errors) == 1 else ConfigurationError(problems)
    return built


def _of_entry(settings: Settings, number: int, options: SourceOptions, *, passed_embedder: bool) -> GroundedSource:
    kind = settings.sources[number].type
    if kind in KNOWLEDGE_BASES:
        options = with_base_fields(options, settings)
        if place := weaviate_place(settings, number):
            # Not loaded by those who have no Weaviate.
            from groundgraph.sources.weaviate_base.source import weaviate_base_from_options

            return weaviate_base_from_options(options, place)
    if kind == "cascade":
        # Not loaded by those who have no cascade.
        from groundgraph.graph.configured_cascade import with_retriever_defaults

        options = with_retriever_defaults(options, settings, passed=passed_embedder)
    return make_source(source_types.get(kind, key=f"{options.key}.type"), options)


def _searches_base(settings: Settings, *, nothing_else: bool) -> bool:
    """Whether the base of the section `knowledge_base` is a source without an entry of its own."""
    has_entry = any(entry.type in KNOWLEDGE_BASES for entry in settings.sources)
    return nothing_else or (settings.knowledge_base is not None and not has_entry)


def _knowledge_base(settings: Settings, embedder: Embedder | None, chains: QueryChains) -> GroundedSource:
    kb = settings.knowledge_base or KnowledgeBaseSettings()
    shared: dict[str, Any] = {
        "fields": base_fields(kb),
        "embedder": embedder,
        "query_chains": chains,
        "vector_weight": kb.vector_weight,
    }
    place = weaviate_place(settings)
    if place is None:
        from groundgraph.sources.knowledge_base import KnowledgeBaseSource

        return KnowledgeBaseSource(settings.at(kb.file), **shared)
    from groundgraph.sources.weaviate_base import WeaviateBaseSource

    return WeaviateBaseSource(place, **shared)
