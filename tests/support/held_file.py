"""An SQLite file that another process writes to."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path


@contextmanager
def held_file(path: Path, lock: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
    """The other connection, which gives the file free in the end and has written nothing."""
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute(f"BEGIN {lock}")
        try:
            yield holder
        finally:
            holder.execute("ROLLBACK")
