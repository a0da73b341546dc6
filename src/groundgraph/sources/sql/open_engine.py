"""Opening the engine that fits the database of a source. What belongs to one kind of database is loaded with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from groundgraph.core.errors import ConfigurationError, SourceUnavailable
from groundgraph.sources.sql.any_database import MOST_ROWS_HERE, AnyDatabase
from groundgraph.sources.sql.database import SqliteDatabase
from groundgraph.sources.sql.engine import SqlEngine
from groundgraph.sources.sql.index_file import IndexFile, MemoryIndex, default_index, delete_former_index
from groundgraph.sources.sql.indexed_engine import IndexedEngine
from groundgraph.sources.sql.keep_index import IndexKeeper
from groundgraph.sources.sql.location import Address, EngineOptions, OtherAddress, ServerAddress
from groundgraph.sources.sql.postgres.options import PostgresOptions, create_index
from groundgraph.sources.sql.shape import TableShape

if TYPE_CHECKING:
    from groundgraph.sources.sql.postgres.database import PostgresDatabase


def open_engine(options: EngineOptions, *, closed: bool) -> SqlEngine:
    """The engine of one source; `closed` when that was closed before.

    Raises:
        SourceUnavailable: it was closed, or the file behind its records cannot be read.
    """
    if closed:
        raise SourceUnavailable(f"The source '{options.named[0]}' is closed.")
    if options.records is None and options.index in (None, ":memory:"):
        delete_former_index(options.folder, options.named[0])
    if isinstance(options.location, ServerAddress):
        return _open_postgres(options, options.location)
    if isinstance(options.location, OtherAddress):
        from groundgraph.sources.sql.portable import PortableDatabase

        return _indexed_engine(
            options, PortableDatabase(options.location, source=options.named[0], wanted=options.wanted)
        )
    assert not isinstance(options.location, Address)
    if options.records is not None:
        options.records.fill()
    database = SqliteDatabase(options.location, source=options.named[0])
    return _indexed_engine(options, database)


def _indexed_engine(
    options: EngineOptions, database: AnyDatabase, advice: Callable[[], list[str]] | None = None
) -> IndexedEngine:
    """The engine over an index of our own; `advice` tells what the owner of the database should change.

    Raises:
        SourceUnavailable: the database does not answer.
    """
    try:
        keeper = IndexKeeper(_index(options, database), database)
    except BaseException:
        database.close()
        raise
    return IndexedEngine(
        options.named,
        database,
        options.wanted,
        keeper=keeper,
        max_tables=options.max_tables,
        fts=options.fts,
        records=options.records,
        advice=advice,
    )


def _index(options: EngineOptions, database: AnyDatabase) -> IndexFile | MemoryIndex:
    if options.index not in (None, ":memory:"):
        return IndexFile(options.folder / str(options.index))
    if options.index == ":memory:":
        return MemoryIndex()
    return IndexFile(default_index(options.folder, options.named[0], database.identity))


def _open_postgres(options: EngineOptions, address: ServerAddress) -> SqlEngine:
    """The engine of one source: over the full-text indexes of the database when every table has one, else over one of
    our own.

    Raises:
        SourceUnavailable: the server does not answer.
        ConfigurationError: a table has no full-text index and must have one.
    """
    from groundgraph.sources.sql.postgres.database import PostgresDatabase
    from groundgraph.sources.sql.postgres.native_engine import NativeEngine, advice

    server = options.server or PostgresOptions()
    database = PostgresDatabase(
        address, source=options.named[0], wanted=options.wanted, options=server, follow_rows=False
    )
    try:
        if server.text_index != "own" and _is_indexed(options, server, database):
            return NativeEngine(options.named, database, options.wanted, max_tables=options.max_tables, options=server)
        if server.vector_field:
            told = "vector_field needs a full-text index of the database beside the vectors."
            raise ConfigurationError(f"The source '{options.named[0]}': {told}")
        database.follow_rows = True
        database.in_file = options.index != ":memory:"
        database.look_again()
        # What may not be kept here is refused now, while nothing is open that only the source could close.
        database.version()
        return _indexed_engine(options, database, advice=lambda: list(advice(database, options.wanted, native=False)))
    except BaseException:
        database.close()
        raise


def _check_vectors(source: str, shapes: Sequence[TableShape], field: str) -> None:
    for shape in shapes:
        if field and field not in shape.vector_fields:
            told = f"'{shape.name}' has no column '{field}' of the type vector."
            raise ConfigurationError(f"The source '{source}': {told}")


def _is_indexed(options: EngineOptions, server: PostgresOptions, database: PostgresDatabase) -> bool:
    shapes = database.shapes(options.wanted)
    _check_vectors(options.named[0], shapes, server.vector_field)
    without = [shape for shape in shapes if not server.is_served(shape, options.wanted)]
    if not without:
        return True
    if server.text_index == "database":
        told = f"text_index: database, but '{without[0].name}' has no GIN index over a tsvector."
        raise ConfigurationError(f"The source '{options.named[0]}': {told} Create one: {create_index(without[0])}")
    large = [shape for shape in without if shape.estimated_rows > MOST_ROWS_HERE]
    if large:
        told = f"'{large[0].name}' has about {large[0].estimated_rows} rows and no full-text index of its text."
        raise ConfigurationError(f"The source '{options.named[0]}': {told} Create one: {create_index(large[0])}")
    return False
