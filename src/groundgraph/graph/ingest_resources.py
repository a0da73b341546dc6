"""The live objects behind an ingest graph: the store, the chains, the embedding model."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Unpack

from groundgraph.core.chain import IngestChains
from groundgraph.core.document import DOCUMENTS, WEB_PAGES, Document
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import refuse_any
from groundgraph.core.knowledge_store import (
    BaseIdentity,
    KnowledgeStore,
    PreparedChunk,
    PreparedDocument,
    StoredDocument,
)
from groundgraph.core.secret_mask import know_secrets
from groundgraph.graph.configured_models import configured_embedder
from groundgraph.graph.knowledge_base_files import KnowledgeBaseFile, base_fields, knowledge_base_file, weaviate_store
from groundgraph.graph.parts import Models, check_given
from groundgraph.graph.resources import configured_models
from groundgraph.ingest.builtin_chains import check_chains, ingest_chains
from groundgraph.ingest.metadata import MetadataRules
from groundgraph.ingest.readers import Readers
from groundgraph.nodes.ingest.find_documents import Share
from groundgraph.nodes.ingest.load_documents import BatchSize
from groundgraph.prompts import Prompts
from groundgraph.resilience.blocking import run_blocking
from groundgraph.settings.knowledge_base import KindChains, KnowledgeBaseSettings, ReaderSettings
from groundgraph.settings.load_settings import GivenSettings, settings_of
from groundgraph.settings.settings import Settings
from groundgraph.sources.knowledge_base.store import EmbeddedStore

# The store of a knowledge base, shared by the runs of one graph: open while one of them needs it.


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


# What is lost when the process is killed is one batch: the dearer a document, the smaller it is.
_WITH_VECTORS = BatchSize(documents=64, chars=250_000, pages=16)
_WITH_MODEL = BatchSize(documents=16, chars=100_000, pages=16)
_WITHOUT_MODEL = {"document", "content", "identity"}


@dataclass(frozen=True)
class IngestResources:
    """What the steps of an ingest work with. Nothing here is opened before a run needs it.

    Attributes:
        settings: of the graph.
        store: the base.
        chains_of: the chains of a kind of data.
        chain_names: by kind of data the signature of its chains, which the base remembers.
        rules: the metadata of documents.
        embedder: the embedding model; None without one.
        size: of a batch.
        share: what a run reads of a larger ingest; None when it looks for itself.
        readers: makes the processes that read the documents of a run, which closes them.
    """

    settings: Settings
    store: SharedStore
    chains_of: Callable[[str], IngestChains]
    chain_names: dict[str, str] = field(default_factory=dict)
    rules: MetadataRules = field(default_factory=MetadataRules)
    embedder: Embedder | None = None
    size: BatchSize = field(default_factory=BatchSize)
    share: Share | None = None
    readers: Callable[[ReaderSettings], Readers] = Readers

    @property
    def base(self) -> KnowledgeBaseSettings:
        """The settings of the base."""
        return self.settings.knowledge_base or KnowledgeBaseSettings()

    @classmethod
    def build(
        cls,
        given: GivenSettings,
        *,
        source: str | None = None,
        knowledge_store: KnowledgeStore | None = None,
        **models: Unpack[Models],
    ) -> IngestResources:
        """The resources that the settings describe; arguments as for `ingest_graph`.

        Raises:
            ConfigurationError: something cannot work; every problem is listed.
        """
        check_given(models)
        settings = settings_of(given)
        know_secrets(*models.values())
        prompts = Prompts.of(settings)
        refuse_any(check_chains(settings, prompts))
        base = settings.knowledge_base or KnowledgeBaseSettings()
        base_fields(base)
        file = knowledge_base_file(settings, source) if knowledge_store is None else None
        embedder = configured_embedder(settings, models.get("embeddings"))
        kinds = _kinds(settings)
        # A model that no chain calls needs neither its package nor its key here.
        with_model = any(_may_call_model(settings.chains.of_kind(kind)) for kind in kinds)
        _, model = configured_models(settings, models) if with_model else (None, None)
        chains = {kind: ingest_chains(settings, kind, prompts, model) for kind in kinds}
        return cls(
            settings=settings,
            store=_store(settings, file, knowledge_store),
            chains_of=lambda kind: chains.get(kind, chains[DOCUMENTS]),
            chain_names={kind: chain.signature for kind, chain in chains.items()},
            rules=MetadataRules.of(base, file.fields if file else None, _guarding(settings, file)),
            embedder=embedder,
            size=_batch_size(with_model=model is not None, with_vectors=embedder is not None),
        )


def _guarding(settings: Settings, file: KnowledgeBaseFile | None) -> Iterator[str]:
    """The fields by which filters keep documents of the base away; those of all sources for a base without a name."""
    for filters in (settings.intent.default_filters, settings.retrieval.scope_filters):
        for source, fields in filters.items():
            if file is None or source == file.name:
                yield from fields


def _batch_size(*, with_model: bool, with_vectors: bool) -> BatchSize:
    if with_model:
        return _WITH_MODEL
    return _WITH_VECTORS if with_vectors else BatchSize()


def _kinds(settings: Settings) -> list[str]:
    """Every kind of data of the configuration."""
    schemas = settings.knowledge_base.schemas if settings.knowledge_base else {}
    return list(dict.fromkeys([DOCUMENTS, WEB_PAGES, *schemas, *(settings.chains.model_extra or {})]))


def _may_call_model(chosen: KindChains) -> bool:
    """Whether one of the chains is none of those that are known to do without a model."""
    choices = (chosen.chunker, chosen.matching_text, chosen.qualifying_text)
    names = {choice if isinstance(choice, str) else str(choice.get("name", "")) for choice in choices}
    return not names <= _WITHOUT_MODEL


def _store(settings: Settings, file: KnowledgeBaseFile | None, passed: KnowledgeStore | None) -> SharedStore:
    """The store over `file`, or the one that was passed in, which belongs to whoever made it."""
    if passed is not None:
        return SharedStore(lambda: passed, keep=True)
    if file is None:
        raise ValueError("a store needs a file")
    if file.place is not None:
        return SharedStore(lambda: weaviate_store(settings, file))
    return SharedStore(lambda: EmbeddedStore(file.path), file.path)
