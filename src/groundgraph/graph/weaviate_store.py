"""The store of a configuration whose knowledge base is in Weaviate."""

from __future__ import annotations

from groundgraph.core.base_fields import base_fields
from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.settings import KnowledgeBaseSettings, Settings
from groundgraph.graph.knowledge_base_files import KnowledgeBaseFile
from groundgraph.sources.weaviate_base import WeaviateStore


def weaviate_store(settings: Settings, base: KnowledgeBaseFile) -> WeaviateStore:
    """The store of `base`, one of the knowledge bases of `settings`.

    Raises:
        ConfigurationError: the base is embedded.
    """
    if base.place is None:
        message = f"the knowledge base {base.told} is embedded; this is for one in Weaviate (backend: weaviate)"
        raise ConfigurationError([Problem("knowledge_base.backend", message)])
    fields = {**base_fields(settings.knowledge_base or KnowledgeBaseSettings()), **base.fields}
    return WeaviateStore(base.place, fields=fields)
