"""What can be searched. Importing this package loads no chat model code."""

from groundgraph.core.evidence import SourceResult
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.schema import SourceSchema
from groundgraph.sources.contract import GroundedSource
from groundgraph.sources.in_memory import InMemorySource
from groundgraph.sources.langchain_adapter import LangChainSource
from groundgraph.sources.sql import SqlSource
from groundgraph.sources.weaviate import WeaviateSource

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
