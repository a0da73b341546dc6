"""The source type `weaviate` of a configuration."""

from __future__ import annotations

from typing import Any

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.sources.check_options import (
    MAPPING,
    NUMBER,
    TEXT,
    WHOLE,
    Kind,
    one_of,
    unknown_names,
    wrong_values,
)
from groundgraph.sources.contract import SourceOptions
from groundgraph.sources.sql.shape import declared_fields
from groundgraph.sources.weaviate.address import DEFAULT_GRPC_PORT, DEFAULT_URL, address_of
from groundgraph.sources.weaviate.shape import mapping_of
from groundgraph.sources.weaviate.source import WeaviateSource

_OF_ADDRESS = ("url", "grpc_host", "grpc_port", "api_key", "headers")


def weaviate_from_options(entry: SourceOptions) -> WeaviateSource:
    """`type: weaviate` with `url`, `grpc_port`, `collection` and `mapping`; see `WeaviateSource` for the other options.

    Raises:
        ConfigurationError: an option is unknown, missing, or has a bad value.
    """
    problems = _problems(entry)
    if problems:
        raise ConfigurationError(problems)
    given = {option: value for option, value in entry.options.items() if value is not None}
    address = address_of(
        given.get("url", DEFAULT_URL),
        grpc_host=given.get("grpc_host", ""),
        grpc_port=given.get("grpc_port", DEFAULT_GRPC_PORT),
        api_key=given.get("api_key", ""),
        headers=given.get("headers"),
        key=f"{entry.key}.url",
    )
    fields, required = declared_fields(given.get("fields"), entry.key)
    if required:
        raise ConfigurationError([Problem(f"{entry.key}.fields", "the only required field is that of `tenant_from`")])
    taken = (*_OF_ADDRESS, "mapping", "fields", "collection")
    return WeaviateSource(
        given["collection"],
        name=entry.name,
        address=address,
        mapping=mapping_of(given.get("mapping"), f"{entry.key}.mapping"),
        fields=fields,
        embedder=entry.embedder,
        **{option: value for option, value in given.items() if option not in taken},
    )


def _problems(entry: SourceOptions) -> list[Problem]:
    problems = [
        *unknown_names(entry.options, OPTIONS, entry.key, "a Weaviate source has no option '{name}'"),
        *wrong_values(entry.options, _KINDS, entry.key),
    ]
    if not entry.options.get("collection"):
        problems.append(Problem(f"{entry.key}.collection", "is missing: the collection to search"))
    return problems


def _is_list_of_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


_KINDS = {
    **dict.fromkeys(("url", "grpc_host", "api_key", "collection", "description", "vector", "tenant_from"), TEXT),
    **dict.fromkeys(("grpc_port", "candidates", "per_document", "neighbours"), WHOLE),
    **dict.fromkeys(("vector_weight", "request_timeout"), NUMBER),
    "vectorizer": one_of("server"),
    "consistency": one_of("one", "quorum", "all"),
    "headers": MAPPING,
    "mapping": MAPPING,
    "metadata": Kind(_is_list_of_names, "must be a list of properties"),
}
OPTIONS = (*_KINDS, "fields")
