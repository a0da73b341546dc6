"""The source over a knowledge base in one SQLite file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundgraph.core.chain import IDENTITY, QueryChains
from groundgraph.sources.knowledge_base.chained_source import ChainedSource
from groundgraph.sources.knowledge_base.schema import LOCK_TIMEOUT
from groundgraph.sources.knowledge_base.searcher import FileSearcher
from groundgraph.sources.knowledge_base.topic_store import FileTopicStore

if TYPE_CHECKING:
    from groundgraph.core.embedder import Embedder

DEFAULT_PATH = Path(".groundgraph/knowledge_base.sqlite")


class KnowledgeBaseSource(ChainedSource):
    """The chunks that an ingest wrote into one SQLite file; see `ChainedSource` for the other arguments.

    Args:
        path: the SQLite file.
        lock_timeout: seconds to wait for a writer that keeps readers out.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        name: str = "knowledge_base",
        fields: Mapping[str, dict[str, Any]] | None = None,
        description: str = "",
        lock_timeout: float = LOCK_TIMEOUT,
        embedder: Embedder | None = None,
        query_chains: QueryChains = IDENTITY,
        vector_weight: float = 0.5,
    ) -> None:
        searcher = FileSearcher(Path(path), lock_timeout, name)
        super().__init__(
            searcher,
            name=name,
            fields=fields,
            description=description,
            embedder=embedder,
            query_chains=query_chains,
            vector_weight=vector_weight,
        )
        self._topics = FileTopicStore(self, searcher.blocking)

    def topic_store(self) -> FileTopicStore:
        """The headings and vectors of the file."""
        return self._topics
