"""Where the knowledge base of a configuration is, in a file or in Weaviate, by which fields it is filtered, and how one
is moved from its file into another store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundgraph.core.document import DOCUMENTS, WEB_PAGES
from groundgraph.core.errors import ConfigurationError, Problem, refuse_any
from groundgraph.core.knowledge_store import LOST, KnowledgeStore, StoredDocument
from groundgraph.core.registry import nearest
from groundgraph.settings.knowledge_base import CustomSchemaSettings, KnowledgeBaseSettings
from groundgraph.settings.search import SourceEntry
from groundgraph.settings.settings import Settings
from groundgraph.sources.check_options import declared_fields, field_problems
from groundgraph.sources.contract import SourceOptions
from groundgraph.sources.knowledge_base import EmbeddedStore
from groundgraph.sources.knowledge_base.source import DEFAULT_PATH
from groundgraph.sources.weaviate_base import WeaviateStore
from groundgraph.sources.weaviate_base.collections import BasePlace

if TYPE_CHECKING:
    from groundgraph.sources.weaviate.client import WeaviateConnection


# The fields by which a knowledge base can be filtered: those of documents, and those of every custom schema.

_TAKEN = (DOCUMENTS, WEB_PAGES, "query")


def base_fields(base: KnowledgeBaseSettings) -> dict[str, dict[str, Any]]:
    """The fields of all kinds of data in one mapping, as `SourceSchema.fields` holds them.

    Raises:
        ConfigurationError: a schema cannot work, or two kinds declare one field with different types.
    """
    problems = field_problems(base.fields, "knowledge_base.fields")
    problems += [problem for name, schema in base.schemas.items() for problem in _problems(name, schema)]
    fields: dict[str, dict[str, Any]] = {name: dict(spec) for name, spec in base.fields.items()}
    for kind, schema in base.schemas.items():
        for name, spec in schema.fields.items():
            # Every document has a title, which the source gives under that name itself.
            if name == "title":
                continue
            known = fields.get(name)
            if known is not None and _type(known) != _type(spec):
                told = f"has the type {_type(spec)} here and {_type(known)} elsewhere; a filter could not know which"
                problems.append(Problem(f"knowledge_base.schemas.{kind}.fields.{name}", told))
            fields[name] = _joined(known, spec)
    refuse_any(problems)
    return fields


def _problems(name: str, schema: CustomSchemaSettings) -> Iterator[Problem]:
    key = f"knowledge_base.schemas.{name}"
    if name in _TAKEN:
        yield Problem(key, f"'{name}' is the name of a kind of data that is there already")
    if not schema.fields:
        yield Problem(f"{key}.fields", "a schema needs at least one field")
    yield from field_problems(schema.fields, f"{key}.fields")
    for option, named in (("content", schema.content), ("id", [schema.id] if schema.id else [])):
        for own in named:
            if own not in schema.fields:
                known = list(schema.fields)
                yield Problem(f"{key}.{option}", f"there is no field '{own}'.{nearest(own, known)}")


def _type(spec: dict[str, Any]) -> str:
    return str(spec.get("type", "string"))


def _joined(known: dict[str, Any] | None, spec: dict[str, Any]) -> dict[str, Any]:
    """One specification for both kinds: a value that either allows may be filtered by."""
    joined = {name: value for name, value in {**(known or {}), **spec}.items() if name != "required"}
    if known is not None and not (known.get("enum") and spec.get("enum")):
        joined.pop("enum", None)
    elif known is not None:
        joined["enum"] = list(dict.fromkeys([*known["enum"], *spec["enum"]]))
    return joined


# The types of sources that an ingest fills.
KNOWLEDGE_BASES = ("knowledge_base", "vector_kb")


@dataclass(frozen=True)
class KnowledgeBaseFile:
    """One knowledge base.

    Attributes:
        name: of its source.
        path: its file, which is not used by a base in Weaviate.
        fields: what the entry of the source declares, beside `knowledge_base.fields`.
        place: where it is in Weaviate; None for an embedded base.
    """

    name: str
    path: Path
    fields: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    place: BasePlace | None = None

    @property
    def told(self) -> str:
        """Where the base is, in words."""
        return self.place.told if self.place else str(self.path)


def knowledge_base_files(settings: Settings) -> dict[str, KnowledgeBaseFile]:
    """The knowledge bases by the name of their source, as a turn would open them."""
    entries = [(number, entry) for number, entry in enumerate(settings.sources) if entry.type in KNOWLEDGE_BASES]
    if entries:
        return {entry.name: _of_entry(settings, number) for number, entry in entries}
    if settings.knowledge_base is not None:
        return _only(settings.at(settings.knowledge_base.file), settings)
    return {} if settings.sources else _only(settings.at(KnowledgeBaseSettings().file), settings)


def knowledge_base_file(settings: Settings, source: str | None = None) -> KnowledgeBaseFile:
    """The knowledge base that a turn with `settings` searches.

    Args:
        settings: from `load_settings`.
        source: the name of the source, needed when there are several knowledge bases.

    Raises:
        ConfigurationError: there is no such knowledge base, or several and no `source`.
    """
    files = knowledge_base_files(settings)
    known = ", ".join(files) or "none"
    if source is not None and source not in files:
        raise ConfigurationError([Problem("", f"there is no knowledge base '{source}' to fill; known: {known}")])
    if not files:
        raise ConfigurationError(
            [Problem("knowledge_base", "the sources are no knowledge bases, so there is nothing to fill")]
        )
    if source is None and len(files) > 1:
        raise ConfigurationError([Problem("sources", f"name the knowledge base to fill with --source: {known}")])
    return files[source or next(iter(files))]


def weaviate_place(settings: Settings, number: int | None = None) -> BasePlace | None:
    """Where the base is in Weaviate; None for an embedded one.

    Args:
        settings: from `load_settings`.
        number: of the entry of `sources:`; None for the base that has no entry. An entry with a `path` is embedded
            whatever the back end.

    Raises:
        ConfigurationError: an entry that stands beside others does not say which collections are its own.
    """
    base = settings.knowledge_base
    if base is None or base.backend != "weaviate":
        return None

    if number is None:
        return BasePlace.of(base.weaviate)
    own = settings.sources[number]
    if not _is_on_server(own):
        return None
    prefix = str(own.options.get("prefix") or "")
    if not prefix and sum(map(_is_on_server, settings.sources)) > 1:
        message = "is missing: of several knowledge bases in Weaviate each needs collections of its own"
        raise ConfigurationError([Problem(f"sources[{number}].prefix", message)])
    return BasePlace.of(base.weaviate, prefix)


def _is_on_server(entry: SourceEntry) -> bool:
    """Whether the base of an entry has no file of its own, so that it is where the section `knowledge_base` says."""
    return entry.type in KNOWLEDGE_BASES and not entry.options.get("path")


def _only(path: Path, settings: Settings) -> dict[str, KnowledgeBaseFile]:
    return {"knowledge_base": KnowledgeBaseFile("knowledge_base", path, place=weaviate_place(settings))}


def with_base_fields(options: SourceOptions, settings: Settings) -> SourceOptions:
    """`options` of an entry of `sources:` whose fields are those of the section `knowledge_base` and its own.

    Raises:
        ConfigurationError: a custom schema cannot work, or the entry's fields are none.
    """
    own, _ = declared_fields(options.options.get("fields"), f"{options.key}.fields")
    fields = {**base_fields(settings.knowledge_base or KnowledgeBaseSettings()), **own}
    return replace(options, options={**options.options, "fields": fields}) if fields else options


def _of_entry(settings: Settings, number: int) -> KnowledgeBaseFile:
    entry = settings.sources[number]
    path = settings.at(Path(str(entry.options.get("path") or DEFAULT_PATH)))
    fields, _ = declared_fields(entry.options.get("fields"), f"sources[{number}].fields")
    return KnowledgeBaseFile(entry.name, path, fields, weaviate_place(settings, number))


# The store of a configuration whose knowledge base is in Weaviate.


def place_of(base: KnowledgeBaseFile) -> BasePlace:
    """Where `base` is in Weaviate.

    Raises:
        ConfigurationError: the base is embedded.
    """
    if base.place is None:
        message = f"the knowledge base {base.told} is embedded; this is for one in Weaviate (backend: weaviate)"
        raise ConfigurationError([Problem("knowledge_base.backend", message)])
    return base.place


def weaviate_store(
    settings: Settings,
    base: KnowledgeBaseFile,
    shard: int | None = None,
    connection: WeaviateConnection | None = None,
) -> WeaviateStore:
    """The store of `base`, one of the knowledge bases of `settings`, or of one `shard` of it; over `connection`, which
    it leaves open, where one is given.

    Raises:
        ConfigurationError: the base is embedded.
    """
    fields = {**base_fields(settings.knowledge_base or KnowledgeBaseSettings()), **base.fields}
    return WeaviateStore(place_of(base), fields=fields, shard=shard, connection=connection)


# An embedded knowledge base into another store, as it is: nothing is loaded, cut or embedded again.

# Of one batch; what is lost when the process is killed.
_DOCUMENTS, _CHUNKS = 500, 2_000

# Called with the number of documents done and how many there are.
Progress = Callable[[int, int], None]


@dataclass
class Moved:
    """What came of a move.

    Attributes:
        documents: how many the embedded base holds.
        chunks: how many chunks they have.
        written: how many documents were written.
        unchanged: how many were there already.
        failed: by name, why a document could not be written, or is no longer in the store.
    """

    documents: int = 0
    chunks: int = 0
    written: int = 0
    unchanged: int = 0
    failed: dict[str, str] = field(default_factory=dict)


async def move_base(embedded: EmbeddedStore, store: KnowledgeStore, on_progress: Progress | None = None) -> Moved:
    """Write every document of `embedded` into `store`; the embedded base stays as it is.

    A move that was interrupted goes on where it stopped. Documents that only `store` has stay there.

    Raises:
        SourceUnavailable: there is no embedded base, or `store` cannot be reached.
        EmbeddingModelChanged: `store` holds vectors of another model.
        StorageLocked: another process writes to `store`.
    """
    identity = await embedded.identity()
    rows = await embedded.documents()
    lost = await store.open(identity)
    there = await store.stored([row.name for row in rows])
    todo = [row for row in rows if not _same(row, there.get(row.name))]
    moved = Moved(len(rows), sum(row.chunks for row in rows), 0, len(rows) - len(todo))
    for batch in _batches(todo):
        prepared = await embedded.prepared([row.name for row in batch])
        failed = await store.write(prepared)
        moved.failed |= failed
        moved.written += len(prepared) - len(failed)
        if on_progress:
            on_progress(moved.unchanged + moved.written + len(moved.failed), len(rows))
    # What the embedded base has as well is there again.
    moved.failed |= dict.fromkeys(set(lost) - {row.name for row in rows}, LOST)
    await store.tidy()
    return moved


def _same(row: StoredDocument, other: StoredDocument | None) -> bool:
    return other is not None and (row.hash, row.chunks) == (other.hash, other.chunks)


def _batches(rows: Sequence[StoredDocument]) -> Iterator[list[StoredDocument]]:
    batch: list[StoredDocument] = []
    for row in rows:
        if batch and (len(batch) >= _DOCUMENTS or sum(one.chunks for one in batch) + row.chunks > _CHUNKS):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
