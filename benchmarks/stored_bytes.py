"""What a saver or a store holds in its SQLite file."""

from __future__ import annotations

from typing import Any

_CHECKPOINTS = "SELECT coalesce(sum(length(checkpoint) + length(metadata)), 0) FROM checkpoints"
_WRITES = "SELECT coalesce(sum(length(value)), 0) FROM writes"
_ITEMS = "SELECT count(*), coalesce(sum(length(value)), 0) FROM store WHERE prefix LIKE ?"


async def checkpoint_bytes(connection: Any) -> int:
    """The bytes of all checkpoints, their metadata and their writes."""
    return int((await _row(connection, _CHECKPOINTS))[0]) + int((await _row(connection, _WRITES))[0])


async def file_bytes(connection: Any) -> int:
    """The size of the database, indices and free space among it."""
    pages = (await _row(connection, "PRAGMA page_count"))[0]
    return int(pages) * int((await _row(connection, "PRAGMA page_size"))[0])


async def stored_items(connection: Any, namespace: tuple[str, ...]) -> tuple[int, int]:
    """How many items a store holds below `namespace`, and their bytes."""
    row = await _row(connection, _ITEMS, ".".join(namespace) + "%")
    return int(row[0]), int(row[1])


async def _row(connection: Any, query: str, *values: str) -> Any:
    async with connection.execute(query, values) as cursor:
        return await cursor.fetchone()
