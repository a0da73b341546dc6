"""Document stores of query bots: a list of texts, with what was asked of it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any


class ListStore:
    """Gives its texts in order, whatever is asked; `calls` holds what was asked."""

    def __init__(self, *texts: Any) -> None:
        self.texts = list(texts)
        self.calls: list[tuple[str, int]] = []

    def retrieve(self, query: str, n_results: int) -> list[Any]:
        self.calls.append((query, n_results))
        return self.texts[:n_results]

    def append(self, text: str) -> None:
        self.texts.append(text)


class AsyncListStore(ListStore):
    """The same with coroutine functions."""

    async def retrieve(self, query: str, n_results: int) -> list[Any]:
        return super().retrieve(query, n_results)

    async def append(self, text: str) -> None:
        super().append(text)


def log_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a bot's log, their messages as lists."""
    if not path.exists():
        return []
    with sqlite3.connect(path) as connection:
        connection.row_factory = sqlite3.Row
        rows = [dict(row) for row in connection.execute("SELECT * FROM turns ORDER BY id")]
    connection.close()
    return [{**row, "messages": json.loads(row["messages"])} for row in rows]
