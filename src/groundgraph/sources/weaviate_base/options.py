"""A knowledge base in Weaviate as an entry of `sources:`."""

from __future__ import annotations

from groundgraph.core.errors import ConfigurationError
from groundgraph.sources.contract import SourceOptions
from groundgraph.sources.knowledge_base.options import declared_fields, unknown_options, vector_weight
from groundgraph.sources.weaviate_base.place import BasePlace
from groundgraph.sources.weaviate_base.source import WeaviateBaseSource

_OPTIONS = ("prefix", "fields", "description", "vector_weight")


def weaviate_base_from_options(entry: SourceOptions, place: BasePlace) -> WeaviateBaseSource:
    """`type: knowledge_base` without a `path`, where the back end is Weaviate.

    Raises:
        ConfigurationError: an option is unknown or has a bad value.
    """
    problems = unknown_options(entry, _OPTIONS)
    if problems:
        raise ConfigurationError(problems)
    return WeaviateBaseSource(
        place,
        name=entry.name,
        fields=declared_fields(entry),
        description=str(entry.options.get("description") or ""),
        embedder=entry.embedder,
        query_chains=entry.query_chains,
        vector_weight=vector_weight(entry),
    )
