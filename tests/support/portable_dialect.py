"""A dialect that is SQLite's under a name that groundgraph does not know, so that only portable SQL is used."""

from __future__ import annotations

from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite.aiosqlite import SQLiteDialect_aiosqlite
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite

NAME = "somebase"


class BlockingDialect(SQLiteDialect_pysqlite):
    """With a driver that blocks."""

    name = NAME
    supports_statement_cache = True


class AsynchronousDialect(SQLiteDialect_aiosqlite):
    """With a driver that does not."""

    name = NAME
    supports_statement_cache = True


registry.register(NAME, __name__, "BlockingDialect")
registry.register(f"{NAME}.aiosqlite", __name__, "AsynchronousDialect")
