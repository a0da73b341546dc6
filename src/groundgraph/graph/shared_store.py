"""The store of a knowledge base, shared by the runs of one graph: open while one of them needs it."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from groundgraph.core.blocking import run_blocking
from groundgraph.core.document import Document
from groundgraph.core.knowledge_store import (
    BaseIdentity,
    KnowledgeStore,
    PreparedChunk,
    PreparedDocument,
    StoredDocument,
)


class SharedStore:
    """A `KnowledgeStore` that is made anew for each time in which runs need it, and closed after the last of them.

    Args:
        make: makes a store that is not open yet.
        path: the file behind it; as long as that is not there, the base reads as empty, so that a dry run needs not
            make it. None when it is no file.
        keep: leave it open; whoever passed it in closes it.
    """

    def __init__(self, make: Callable[[], KnowledgeStore], path: Path | None = None, *, keep: bool = False) -> None:
        self._make = make
        self._path = path
        self._keep = keep
        self._store: KnowledgeStore | None = None
        self._users = 0
        self._guard = threading.Lock()

    @property
    def path(self) -> Path | None:
        """The file behind it; None when it is no file."""
        return self._path

    @asynccontextmanager
    async def in_use(self) -> AsyncIterator[None]:
        """Keeps the store alive inside."""
        with self._guard:
            self._users += 1
        try:
            yield
        finally:
            with self._guard:
                self._users -= 1
                last, self._store = (None, self._store) if self._users else (self._store, None)
            if last is not None and not self._keep:
                await last.close()

    async def open(self, identity: BaseIdentity, *, rebuild: bool = False) -> Sequence[str]:
        """See `KnowledgeStore.open`."""
        return await self._current().open(identity, rebuild=rebuild)

    async def stored(self, names: Iterable[str]) -> dict[str, StoredDocument]:
        """See `KnowledgeStore.stored`."""
        return await self._current().stored(names) if await self._exists() else {}

    async def names_from_files(self) -> list[str]:
        """See `KnowledgeStore.names_from_files`."""
        return await self._current().names_from_files() if await self._exists() else []

    async def write(self, batch: Sequence[PreparedDocument]) -> dict[str, str]:
        """See `KnowledgeStore.write`."""
        return await self._current().write(batch)

    async def remove(self, names: Iterable[str]) -> int:
        """See `KnowledgeStore.remove`."""
        return await self._current().remove(names) if await self._exists() else 0

    async def documents(self) -> list[StoredDocument]:
        """See `KnowledgeStore.documents`."""
        return await self._current().documents() if await self._exists() else []

    async def document(self, name: str) -> Document | None:
        """See `KnowledgeStore.document`."""
        return await self._current().document(name) if await self._exists() else None

    async def chunks(self, name: str) -> list[PreparedChunk]:
        """See `KnowledgeStore.chunks`."""
        return await self._current().chunks(name) if await self._exists() else []

    async def tidy(self) -> None:
        """See `KnowledgeStore.tidy`."""
        await self._current().tidy()

    async def close(self) -> None:
        """Nothing: the store is closed when the last run that uses it ends."""

    def _current(self) -> KnowledgeStore:
        with self._guard:
            if not self._users:
                raise RuntimeError("the store of a knowledge base is used outside of a run")
            if self._store is None:
                self._store = self._make()
            return self._store

    async def _exists(self) -> bool:
        return self._path is None or await run_blocking(self._path.exists)
