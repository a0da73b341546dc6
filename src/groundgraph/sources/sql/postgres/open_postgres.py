"""Opening the engine that fits the tables of a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Sequence

from groundgraph.core.errors import ConfigurationError
from groundgraph.sources.sql.any_database import MOST_ROWS_HERE
from groundgraph.sources.sql.engine import SqlEngine
from groundgraph.sources.sql.engine_options import EngineOptions, indexed_engine
from groundgraph.sources.sql.location import ServerAddress
from groundgraph.sources.sql.postgres.database import PostgresDatabase
from groundgraph.sources.sql.postgres.native_engine import NativeEngine, advice
from groundgraph.sources.sql.postgres.options import PostgresOptions, create_index
from groundgraph.sources.sql.shape import TableShape


def open_postgres(options: EngineOptions) -> SqlEngine:
    """The engine of one source: over the full-text indexes of the database when every table has one, else over one of
    our own.

    Raises:
        SourceUnavailable: the server does not answer.
        ConfigurationError: a table has no full-text index and must have one.
    """
    server = options.server or PostgresOptions()
    assert isinstance(options.location, ServerAddress)
    database = PostgresDatabase(
        options.location, source=options.named[0], wanted=options.wanted, options=server, follow_rows=False
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
        return indexed_engine(options, database, advice=lambda: list(advice(database, options.wanted, native=False)))
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
    without = [shape for shape in shapes if not shape.text_index]
    if not without:
        return True
    if server.text_index == "database":
        told = f"text_index: database, but '{without[0].name}' has no GIN index over a tsvector."
        raise ConfigurationError(f"The source '{options.named[0]}': {told} Create one: {create_index(without[0])}")
    large = [shape for shape in without if shape.estimated_rows > MOST_ROWS_HERE]
    if large:
        told = f"'{large[0].name}' has about {large[0].estimated_rows} rows and no full-text index."
        raise ConfigurationError(f"The source '{options.named[0]}': {told} Create one: {create_index(large[0])}")
    return False
