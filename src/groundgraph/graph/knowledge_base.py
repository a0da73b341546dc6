"""A knowledge base from Python: records in, documents listed and removed, from within a running graph too;
and what searches it by itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self, Unpack

from groundgraph.core.characters import clean_text, on_one_line
from groundgraph.core.document import RECORDS, Document, Part
from groundgraph.core.errors import ConfigurationError, InputInvalid, Problem, RecordInvalid
from groundgraph.core.evidence import SourceResult, jsonable
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.knowledge_store import PreparedChunk, StoredDocument
from groundgraph.core.registry import nearest
from groundgraph.core.schema import typed_value
from groundgraph.graph.ingest import compiled_ingest, run_ingest
from groundgraph.graph.ingest_resources import IngestResources
from groundgraph.graph.knowledge_base_files import KNOWLEDGE_BASES, knowledge_base_files
from groundgraph.graph.parts import Models, takes
from groundgraph.graph.resources import Resources
from groundgraph.ingest.ingest_report import IngestReport
from groundgraph.resilience.blocking import plain, run_blocking
from groundgraph.settings.knowledge_base import CustomSchemaSettings, KnowledgeBaseSettings
from groundgraph.settings.load_settings import GivenSettings
from groundgraph.settings.search import IntentSettings, RetrievalSettings
from groundgraph.settings.settings import Settings
from groundgraph.sources.contract import GroundedSource, ask

# A record of a custom schema as a document.


def record_document(kind: str, schema: CustomSchemaSettings, record: Any, number: int) -> Document:
    """The document of one record, named `KIND/ID`; its fields are its metadata.

    The id is the value of the field `schema.id`, else a hash of the fields. The text is that of the fields in
    `schema.content`: the value alone when there is one, else a line `field: value` for each that is set.

    Args:
        kind: the name of the schema.
        schema: its declaration.
        record: a mapping of fields to values.
        number: the place of the record among those that were passed in, from 0, for messages.

    Raises:
        RecordInvalid: the record does not fit the schema; the message names record and field.
    """
    values = _values(kind, schema, record, number)
    text = _text(schema, values)
    if not text.strip():
        raise _invalid(kind, number, "", "none of the fields that make its text is set")
    title = values.get("title") or " ".join(text.split())[:80]
    name = f"{kind}/{_id(kind, schema, values, number)}"
    metadata = {**values, "title": str(title)}
    return Document(name, text, RECORDS, metadata, kind=kind, parts=(Part(0, len(text)),))


def _values(kind: str, schema: CustomSchemaSettings, record: Any, number: int) -> dict[str, Any]:
    if not isinstance(record, Mapping):
        raise _invalid(kind, number, "", f"it is a {type(record).__name__}, not a mapping of fields to values")
    values: dict[str, Any] = {}
    for field, value in record.items():
        if field not in schema.fields:
            known = list(schema.fields)
            told = f"the schema has no such field.{nearest(str(field), known)} Declared: {', '.join(known)}."
            raise _invalid(kind, number, str(field), told)
        if value is None:
            continue
        try:
            values[str(field)] = _plain(typed_value(schema.fields[field], value))
        except ValueError as error:
            raise _invalid(kind, number, str(field), str(error)) from None
    missing = [name for name, spec in schema.fields.items() if spec.get("required") and name not in values]
    if missing:
        raise _invalid(kind, number, missing[0], "is required")
    return values


def _plain(value: Any) -> Any:
    return clean_text(value) if isinstance(value, str) else jsonable(value)


def _text(schema: CustomSchemaSettings, values: Mapping[str, Any]) -> str:
    chosen = [name for name in schema.content or schema.fields if name in values]
    if len(schema.content) == 1 and chosen:
        return _shown(values[chosen[0]])
    lines = ((name, on_one_line(_shown(values[name]))) for name in chosen)
    return "\n".join(f"{name}: {line}" for name, line in lines if line.strip())


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _id(kind: str, schema: CustomSchemaSettings, values: Mapping[str, Any], number: int) -> str:
    if schema.id is None:
        canonical = json.dumps(dict(values), sort_keys=True).encode()
        return hashlib.blake2b(canonical, digest_size=12).hexdigest()
    own = _shown(values.get(schema.id, ""))
    if not own.strip():
        raise _invalid(kind, number, schema.id, "is the id of a record and must be set")
    return own


def _invalid(kind: str, number: int, field: str, told: str) -> RecordInvalid:
    where = f"record {number} of '{kind}'" + (f", field '{field}'" if field else "")
    return RecordInvalid(f"{where}: {told}", record=number, field=field)


def _checked(given: str, name: str) -> str:
    if not isinstance(given, str) or not given.strip():
        raise InputInvalid(f"'{name}' is a text that says something, and this is {given!r:.60}.")
    return given


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
    def open(
        cls, settings: GivenSettings = None, *, source: str | None = None, **models: Unpack[Models]
    ) -> KnowledgeBase:
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
        if isinstance(records, Mapping | str):
            raise InputInvalid(f"'records' are a list of mappings; put this {type(records).__name__} in one: [...].")
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
            return await self.resources.store.document(clean_text(_checked(id, "id")))

    document = plain(adocument)

    async def achunks(self, id: str) -> list[PreparedChunk]:
        """The chunks of the document called `id` in order, with the texts by which they are found."""
        async with self.resources.store.in_use():
            return await self.resources.store.chunks(clean_text(_checked(id, "id")))

    chunks = plain(achunks)

    async def asearch(
        self, query: str, *, top_k: int = 5, score_threshold: float = 0.0, filters: Mapping[str, Any] | None = None
    ) -> list[SourceResult]:
        """What a turn would find in the base for `query`, best first, with its chains and vectors; nothing is answered.

        Args:
            query: in words.
            top_k: at most so many results.
            score_threshold: the lowest relevance of a result, 0 to 1.
            filters: conditions by field, as an intent has them for one source.

        Raises:
            NeverIngested: nothing was ever taken in.
            FilterInvalid: a filter names no declared field, or a value that it does not allow.
            SourceError: the base cannot be read.
        """
        query = _checked(query, "query")
        source = base_source(self.resources)
        intent = RetrievalIntent([query], {source.name: dict(filters)} if filters else {})
        try:
            return await ask(source, intent, top_k=top_k, score_threshold=score_threshold)
        finally:
            await source.close()

    search = plain(asearch)

    async def aremove(self, id: str) -> bool:
        """Remove the document called `id` with its chunks; whether it was there.

        Raises:
            StorageLocked: another process held the base for too long.
        """
        async with self.resources.store.in_use():
            return bool(await self.resources.store.remove([clean_text(_checked(id, "id"))]))

    remove = plain(aremove)

    async def aclose(self) -> None:
        """Nothing is held between calls, so there is nothing to release; here for symmetry with `open`."""

    def close(self) -> None:
        """See `aclose`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _schema(self, name: str) -> CustomSchemaSettings:
        schemas = self.resources.base.schemas
        if name not in schemas:
            known = list(schemas)
            told = f"there is no schema '{name}'.{nearest(name, known)} Declared: {', '.join(known) or 'none'}."
            raise ConfigurationError([Problem("knowledge_base.schemas", told)])
        return schemas[name]


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
    # A base that no section names was opened all the same: it is what is searched.
    base = settings.knowledge_base or KnowledgeBaseSettings()
    return settings.model_copy(update={**plain, "sources": entries, "knowledge_base": base})
