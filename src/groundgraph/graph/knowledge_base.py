"""A knowledge base from Python: records in, documents listed and removed, from within a running graph too (K8, K12)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, Unpack

from groundgraph.core.blocking import run_blocking
from groundgraph.core.clean_text import clean_text
from groundgraph.core.custom_record import record_document
from groundgraph.core.document import Document
from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.ingest_report import IngestReport
from groundgraph.core.knowledge_store import PreparedChunk, StoredDocument
from groundgraph.core.registry import nearest
from groundgraph.core.settings import CustomSchemaSettings, Settings
from groundgraph.graph.background_loop import plain
from groundgraph.graph.ingest import compiled_ingest
from groundgraph.graph.ingest_documents import run_ingest
from groundgraph.graph.ingest_resources import IngestResources
from groundgraph.graph.parts import Models, takes


@dataclass(frozen=True)
class KnowledgeBase:
    """The knowledge base of a configuration.

    ::

        with KnowledgeBase.open(settings) as base:
            base.add_records("memories", [{"topic": "diet", "fact": "The guest is allergic to nuts."}])

    Every method has an asynchronous twin. The plain ones work in threads and on a running event loop as well, since
    they run on a loop of their own. Between calls the file is not held, so many processes can write to it in turn.
    """

    resources: IngestResources

    @classmethod
    @takes(Models)
    def open(cls, settings: Settings, *, source: str | None = None, **models: Unpack[Models]) -> KnowledgeBase:
        """The base that `settings` describe; arguments as for `ingest_graph`.

        Raises:
            ConfigurationError: the settings cannot work; every problem is listed.
        """
        return cls(IngestResources.build(settings, source=source, **models))

    async def aadd_records(self, schema: str, records: Iterable[Mapping[str, Any]]) -> IngestReport:
        """Write `records` of the custom `schema`, each in place of the one of its id.

        Raises:
            ConfigurationError: no such schema is declared under `knowledge_base.schemas`.
            RecordInvalid: a record does not fit the schema; then none is written.
            GroundGraphError: see `IngestRunner.astream`.
        """
        declared = self._schema(schema)
        documents = await run_blocking(
            lambda: [record_document(schema, declared, record, number) for number, record in enumerate(records)]
        )
        return await self.aadd_documents(documents)

    add_records = plain(aadd_records)

    async def aadd_documents(self, documents: Iterable[Document]) -> IngestReport:
        """Write documents, each in place of the one of its name.

        Raises:
            GroundGraphError: see `IngestRunner.astream`.
        """
        # Its own run and not a part of the graph that calls it: that one's checkpoints are not for documents.
        graph = compiled_ingest(self.resources, checkpointer=False)
        return await run_ingest(graph, {"documents": documents})

    add_documents = plain(aadd_documents)

    async def adocuments(self) -> list[StoredDocument]:
        """What the base holds, by name; nothing when it was never filled."""
        async with self.resources.store.in_use():
            return await self.resources.store.documents()

    documents = plain(adocuments)

    async def adocument(self, id: str) -> Document | None:
        """The document called `id` as it was loaded; None when it is not there."""
        async with self.resources.store.in_use():
            return await self.resources.store.document(clean_text(id))

    document = plain(adocument)

    async def achunks(self, id: str) -> list[PreparedChunk]:
        """The chunks of the document called `id` in order, with the texts by which they are found."""
        async with self.resources.store.in_use():
            return await self.resources.store.chunks(clean_text(id))

    chunks = plain(achunks)

    async def aremove(self, id: str) -> bool:
        """Remove the document called `id` with its chunks; whether it was there.

        Raises:
            StorageLocked: another process held the base for too long.
        """
        async with self.resources.store.in_use():
            return bool(await self.resources.store.remove([clean_text(id)]))

    remove = plain(aremove)

    async def aclose(self) -> None:
        """Nothing is held between calls, so there is nothing to release; here for symmetry with `open`."""

    def close(self) -> None:
        """See `aclose`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def _schema(self, name: str) -> CustomSchemaSettings:
        schemas = self.resources.base.schemas
        if name not in schemas:
            known = list(schemas)
            told = f"there is no schema '{name}'.{nearest(name, known)} Declared: {', '.join(known) or 'none'}."
            raise ConfigurationError([Problem("knowledge_base.schemas", told)])
        return schemas[name]
