"""Opening the engine that fits the database of a source."""

from __future__ import annotations

from groundgraph.core.errors import SourceUnavailable
from groundgraph.sources.sql.database import SqliteDatabase
from groundgraph.sources.sql.engine import SqlEngine
from groundgraph.sources.sql.engine_options import EngineOptions, indexed_engine
from groundgraph.sources.sql.index_file import delete_former_index
from groundgraph.sources.sql.location import Address, OtherAddress, ServerAddress


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
        from groundgraph.sources.sql.postgres.open_postgres import open_postgres

        return open_postgres(options)
    if isinstance(options.location, OtherAddress):
        from groundgraph.sources.sql.portable.database import PortableDatabase

        return indexed_engine(
            options, PortableDatabase(options.location, source=options.named[0], wanted=options.wanted)
        )
    assert not isinstance(options.location, Address)
    if options.records is not None:
        options.records.fill()
    database = SqliteDatabase(options.location, source=options.named[0])
    return indexed_engine(options, database)
