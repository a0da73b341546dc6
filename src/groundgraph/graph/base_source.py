"""What searches one knowledge base by itself, as a turn over its configuration would."""

from __future__ import annotations

from groundgraph.graph.ingest_resources import IngestResources
from groundgraph.graph.knowledge_base_files import KNOWLEDGE_BASES, knowledge_base_files
from groundgraph.graph.parts import Models
from groundgraph.graph.resources import Resources
from groundgraph.settings.search import IntentSettings, RetrievalSettings
from groundgraph.settings.settings import Settings
from groundgraph.sources.contract import GroundedSource


def base_source(base: IngestResources, models: Models | None = None) -> GroundedSource:
    """What searches `base`, with its query chains, vectors and topic index.

    Args:
        base: it.
        models: for query chains that call one; those of the base's own settings when absent. The embedding model is
            that of the base.

    Raises:
        ConfigurationError: its settings cannot work for a search.
    """
    settings, name = base.settings, _name(base)
    with_its_own = Models(**(models or {}))
    with_its_own["embeddings"] = base.embedder
    resources = Resources.build(_alone(settings, name), **with_its_own)
    return resources.sources[name]


def _name(base: IngestResources) -> str:
    """The name of the source in the base's own settings; of several, that over its file."""
    files = knowledge_base_files(base.settings)
    same = [name for name, one in files.items() if one.path == base.store.path]
    return (same or list(files))[0]


def _alone(settings: Settings, name: str) -> Settings:
    """`settings` with this source alone, and without what they say about turns."""
    entries = [entry for entry in settings.sources if entry.type in KNOWLEDGE_BASES and entry.name == name]
    plain = {"intent": IntentSettings(), "retrieval": RetrievalSettings()}
    return settings.model_copy(update={**plain, "sources": entries})
