"""A knowledge base in Weaviate. Importing this package does not load the client library."""

from groundgraph.sources.weaviate_base.collections import BasePlace
from groundgraph.sources.weaviate_base.source import WeaviateBaseSource
from groundgraph.sources.weaviate_base.store import WeaviateStore

__all__ = ["BasePlace", "WeaviateBaseSource", "WeaviateStore"]
