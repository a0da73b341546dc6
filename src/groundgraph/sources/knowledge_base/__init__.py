"""A knowledge base in one SQLite file: the source that searches it and the writer that fills it."""

from groundgraph.sources.knowledge_base.source import DEFAULT_PATH, KnowledgeBaseSource
from groundgraph.sources.knowledge_base.store import EmbeddedStore, KnowledgeBaseWriter

__all__ = ["DEFAULT_PATH", "EmbeddedStore", "KnowledgeBaseSource", "KnowledgeBaseWriter"]
