"""What an engine is made of, and the engine over an index of our own, which every kind of database can have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from groundgraph.sources.sql.any_database import AnyDatabase
from groundgraph.sources.sql.index_file import IndexFile, MemoryIndex, default_index
from groundgraph.sources.sql.indexed_engine import IndexedEngine
from groundgraph.sources.sql.introspect import Wanted
from groundgraph.sources.sql.keep_index import IndexKeeper
from groundgraph.sources.sql.location import Address
from groundgraph.sources.sql.postgres.options import PostgresOptions
from groundgraph.sources.sql.records import MemoryTable


@dataclass(frozen=True)
class EngineOptions:
    """What a source was given, as far as its engine needs it.

    Attributes:
        named: the name and the type of the source.
        location: a file, the name of a database in memory, or the address of a server.
        index: the file of the index of our own, `:memory:`, or None for one in `folder`, named by what it is of.
        folder: where relative paths start.
        wanted: what the configuration says of the tables.
        max_tables: the most tables that one question searches.
        fts: an FTS5 table of a SQLite database.
        records: what a database in memory is filled from.
        server: the options that only a server has; see `PostgresOptions`.
    """

    named: tuple[str, str]
    location: str | Path | Address
    index: str | Path | None
    wanted: Wanted
    max_tables: int
    folder: Path = Path()
    fts: str | None = None
    records: MemoryTable | None = None
    server: PostgresOptions | None = None


def indexed_engine(
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
