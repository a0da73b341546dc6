"""One state of a base, which a reader sees from the beginning of its transaction to the end."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from groundgraph.sources.knowledge_base.schema import check_version


class Revision(NamedTuple):
    """Which state: `base` names the file for as long as it exists, `changes` counts what was written to it."""

    base: str
    changes: int


@contextmanager
def reading(connection: sqlite3.Connection, path: Path) -> Iterator[Revision]:
    """One transaction, so that a writer in between does not change what the row numbers stand for.

    Raises:
        SchemaVersionUnsupported: a newer groundgraph has migrated the file since it was opened.
    """
    connection.execute("BEGIN")
    try:
        check_version(connection, path)
        row = connection.execute("SELECT value, changes FROM meta, state WHERE name = 'base'").fetchone()
        yield Revision(*row)
    finally:
        connection.rollback()
