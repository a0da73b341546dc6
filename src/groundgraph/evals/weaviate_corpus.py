"""A corpus in Weaviate, for a configuration whose knowledge base is there."""

from __future__ import annotations

import re
from pathlib import Path

from groundgraph.core.errors import IngestError
from groundgraph.core.settings import Settings
from groundgraph.graph.move_base import move_base
from groundgraph.sources.knowledge_base import EmbeddedStore
from groundgraph.sources.weaviate_base import BasePlace, WeaviateStore


def weaviate_prefix(settings: Settings, base: Path) -> str | None:
    """What the collections of the corpus whose embedded base is the file `base` are called; None without Weaviate."""
    if settings.knowledge_base is None or settings.knowledge_base.backend != "weaviate":
        return None
    return f"{settings.knowledge_base.weaviate.prefix}Evaluate_{re.sub('[^A-Za-z0-9]', '_', base.stem)}"


async def corpus_in_weaviate(settings: Settings, base: Path) -> None:
    """Move the embedded base in the file `base` into Weaviate, when the configuration's is there.

    Raises:
        IngestError: a passage cannot be written.
        SourceError: the server cannot answer.
    """
    prefix = weaviate_prefix(settings, base)
    if prefix is None or settings.knowledge_base is None:
        return
    embedded = EmbeddedStore(base)
    store = WeaviateStore(BasePlace.of(settings.knowledge_base.weaviate, prefix))
    try:
        moved = await move_base(embedded, store)
    finally:
        await embedded.close()
        await store.close()
    if moved.failed:
        name, reason = next(iter(moved.failed.items()))
        raise IngestError(f"passage '{name}' cannot be written into Weaviate: {reason}")
