"""What can be searched. Importing this package loads no chat model code, and a kind of source when it is first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundgraph.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from groundgraph.core.evidence import SourceResult as SourceResult
    from groundgraph.core.intent import RetrievalIntent as RetrievalIntent
    from groundgraph.core.schema import SourceSchema as SourceSchema
    from groundgraph.sources.contract import GroundedSource as GroundedSource
    from groundgraph.sources.in_memory import InMemorySource as InMemorySource
    from groundgraph.sources.langchain_adapter import LangChainSource as LangChainSource
    from groundgraph.sources.sql import SqlSource as SqlSource
    from groundgraph.sources.weaviate import WeaviateSource as WeaviateSource

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "core.evidence": ["SourceResult"],
        "core.intent": ["RetrievalIntent"],
        "core.schema": ["SourceSchema"],
        "sources.contract": ["GroundedSource"],
        "sources.in_memory": ["InMemorySource"],
        "sources.langchain_adapter": ["LangChainSource"],
        "sources.sql": ["SqlSource"],
        "sources.weaviate": ["WeaviateSource"],
    },
)
