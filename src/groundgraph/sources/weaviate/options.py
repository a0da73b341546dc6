"""The source type `weaviate` of a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.registry import nearest
from groundgraph.sources.contract import SourceOptions
from groundgraph.sources.sql.shape import declared_fields
from groundgraph.sources.weaviate.address import DEFAULT_GRPC_PORT, DEFAULT_URL, address_of
from groundgraph.sources.weaviate.shape import mapping_of
from groundgraph.sources.weaviate.source import WeaviateSource

_TEXTS = ("url", "grpc_host", "api_key", "collection", "description", "vector", "tenant_from")
_WHOLE = ("grpc_port", "candidates", "per_document", "neighbours")
_NUMBERS = ("vector_weight", "request_timeout")
_CHOICES = {"vectorizer": ("server",), "consistency": ("one", "quorum", "all")}
_MAPPINGS = ("headers", "mapping")
_OTHERS = ("fields", "metadata")
OPTIONS = (*_TEXTS, *_WHOLE, *_NUMBERS, *_CHOICES, *_MAPPINGS, *_OTHERS)
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
    problems = []
    for option, value in entry.options.items():
        key = f"{entry.key}.{option}"
        if option not in OPTIONS:
            hint = nearest(str(option), list(OPTIONS))
            problems.append(Problem(key, f"a Weaviate source has no such option.{hint} Known: {', '.join(OPTIONS)}."))
        elif value is not None and (wrong := _wrong(option, value)):
            problems.append(Problem(key, wrong))
    if not entry.options.get("collection"):
        problems.append(Problem(f"{entry.key}.collection", "is missing: the collection to search"))
    return problems


def _wrong(option: str, value: Any) -> str:
    """What is wrong with the value of an option; empty when nothing is."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if option in _TEXTS:
        return "" if isinstance(value, str) else "must be a text"
    if option in _WHOLE:
        return "" if isinstance(value, int) and is_number and value >= 0 else "must be a whole number, 0 or more"
    if option in _NUMBERS:
        return "" if is_number and value >= 0 else "must be a number, 0 or more"
    if option in _CHOICES:
        return "" if value in _CHOICES[option] else f"must be one of: {', '.join(_CHOICES[option])}"
    if option in _MAPPINGS:
        return "" if isinstance(value, Mapping) else "must be a mapping"
    if option == "metadata":
        is_list = isinstance(value, list) and all(isinstance(name, str) for name in value)
        return "" if is_list else "must be a list of properties"
    return ""
