"""LangGraph's SQLite store, whose errors name the file, and from which a damaged row takes nothing but itself."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from langgraph.store.base import Op, Result
from langgraph.store.sqlite.aio import AsyncSqliteStore

from groundgraph.core.stored_values import readable_value
from groundgraph.graph.sqlite_errors import sqlite_error


class SqliteStore(AsyncSqliteStore):
    """A store over one file.

    Args:
        connection: of aiosqlite, without transactions of its own.
        file: the name of the file.
    """

    def __init__(self, connection: Any, file: str) -> None:
        super().__init__(connection, deserializer=readable_value)
        self.file = file

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As LangGraph's.

        Raises:
            StorageLocked: another process held the file.
            StorageUnavailable: the file cannot be written.
            StorageDamaged: the file is damaged.
        """
        try:
            return await super().abatch(ops)
        except sqlite3.Error as error:
            told = sqlite_error(error, self.file)
            if told is None:
                raise
            with suppress(sqlite3.Error, ValueError):
                async with self.lock:
                    # Else no other can begin.
                    if self.conn.in_transaction:
                        await self.conn.rollback()
            raise told from error
