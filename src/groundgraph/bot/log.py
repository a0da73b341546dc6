"""The log of a query bot: one row of a SQLite file per turn."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundgraph.core.errors import SchemaVersionUnsupported, StorageLocked, StorageUnavailable
from groundgraph.resilience.blocking import run_blocking

if TYPE_CHECKING:
    import aiosqlite

VERSION = 1
# Seconds to wait for another process that writes.
LOCK_TIMEOUT = 5.0

_TABLE = """
CREATE TABLE IF NOT EXISTS turns (
    id INTEGER PRIMARY KEY,
    turn_id TEXT,
    started_at TEXT NOT NULL,
    seconds REAL NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('completed', 'failed', 'cancelled')),
    outcome TEXT,
    query TEXT NOT NULL,
    n_results INTEGER NOT NULL,
    docstore_results INTEGER NOT NULL,
    memory_results INTEGER NOT NULL,
    messages TEXT NOT NULL,
    response TEXT NOT NULL,
    error TEXT NOT NULL,
    remembered INTEGER NOT NULL DEFAULT 0,
    memory_error TEXT NOT NULL DEFAULT ''
)
"""


class QueryLog:
    """Writes one row per turn; the table is `turns`.

    `messages` is a JSON list of mappings with `role`, `name` and `content`: what the model was shown, and behind it the
    response as far as it came. `status` is `completed`, `failed` or `cancelled`. `remembered` is 1 once the
    response stands in the memory. The file is opened for each write, so that many processes can share it.

    Args:
        path: of the file, which is made with the first turn.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    async def write(self, row: Mapping[str, Any]) -> int:
        """The number of the new row, whose columns are the keys of `row`; `messages` is turned into JSON.

        Raises:
            StorageLocked: another process held the file for five seconds.
            StorageUnavailable: it is no log, or cannot be written.
            SchemaVersionUnsupported: a newer version of groundgraph made the file.
        """
        values = {**row, "messages": json.dumps(row["messages"], ensure_ascii=False)}
        columns, marks = ", ".join(values), ", ".join("?" * len(values))
        async with self._transaction() as connection:
            # The names of the columns are ours, the values are bound.
            statement = f"INSERT INTO turns ({columns}) VALUES ({marks})"
            cursor = await connection.execute(statement, tuple(values.values()))
            return int(cursor.lastrowid or 0)

    async def remembered(self, row: int, error: str = "") -> None:
        """Note in the row numbered `row` that the response stands in the memory, or why it does not."""
        async with self._transaction() as connection:
            await connection.execute(
                "UPDATE turns SET remembered = ?, memory_error = ? WHERE id = ?", (int(not error), error, row)
            )

    @asynccontextmanager
    async def _transaction(self) -> AsyncIterator[aiosqlite.Connection]:
        import aiosqlite

        await run_blocking(self.path.parent.mkdir, parents=True, exist_ok=True)
        try:
            async with aiosqlite.connect(self.path, timeout=LOCK_TIMEOUT, isolation_level=None) as connection:
                # At once for writing: a transaction that begins by reading does not wait for another one's end.
                await connection.execute("BEGIN IMMEDIATE")
                await self._prepare(connection)
                yield connection
                await connection.execute("COMMIT")
        except (OSError, sqlite3.DatabaseError) as error:
            if "locked" not in str(error) and "busy" not in str(error):
                raise StorageUnavailable(
                    f"The log {self.path} cannot be written ({error}). Name another file."
                ) from error
            message = f"The log {self.path} stayed locked by another process for {LOCK_TIMEOUT:g} seconds."
            raise StorageLocked(f"{message} The turn is not in it; ask again.") from error

    async def _prepare(self, connection: aiosqlite.Connection) -> None:
        async with connection.execute("PRAGMA user_version") as cursor:
            [found] = await cursor.fetchone() or (0,)
        if found > VERSION:
            raise SchemaVersionUnsupported(
                f"The log {self.path} has version {found}, this groundgraph writes {VERSION}: update it."
            )
        if found < VERSION:
            await connection.execute(_TABLE)
            await connection.execute(f"PRAGMA user_version={VERSION}")
