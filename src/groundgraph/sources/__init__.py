"""What can be searched. Importing this package loads no chat model code, and a kind of source when it is first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from groundgraph.core.evidence import SourceResult
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.schema import SourceSchema
from groundgraph.sources.contract import GroundedSource

if TYPE_CHECKING:
    from groundgraph.sources.in_memory import InMemorySource
    from groundgraph.sources.langchain_adapter import LangChainSource
    from groundgraph.sources.sql import SqlSource
    from groundgraph.sources.weaviate import WeaviateSource

_HOMES = {
    "InMemorySource": "in_memory",
    "LangChainSource": "langchain_adapter",
    "SqlSource": "sql",
    "WeaviateSource": "weaviate",
}

__all__ = [
    "GroundedSource",
    "InMemorySource",
    "LangChainSource",
    "RetrievalIntent",
    "SourceResult",
    "SourceSchema",
    "SqlSource",
    "WeaviateSource",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'groundgraph.sources' has no attribute '{name}'")
    return getattr(import_module(f"groundgraph.sources.{_HOMES[name]}"), name)
