"""Real SQLite files: how tests make, change and read one, and the rows of the tests of the SQL source."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

PUMPS = [
    (n, f"Pump {n}", f"Serviced every {n} months by the crew.", n * 10, "hall A" if n % 2 else "hall B")
    for n in range(1, 41)
]
INCIDENTS = [
    (1, "Pump leak", "The seal of a pump leaked.", "critical", "March", 3.5, "2026-03-02"),
    (2, "Fire alarm", "A false fire alarm.", "critical", "March", 1.0, "2026-03-31 17:00:00"),
    (3, "Valve stuck", "A valve was stuck.", "low", "March", 0.5, "2026-03-15"),
    (4, "Power cut", "A power cut of an hour.", "critical", "April", 8.0, "2026-04-01"),
    (5, "Pump noise", "A pump was noisy.", "low", "April", None, None),
]


def fill(path: Path, script: str, /, **rows: list[tuple[object, ...]]) -> Path:
    """A database at `path` with the tables of `script` and, by table, `rows`."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(script)
        for table, values in rows.items():
            connection.executemany(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(values[0]))})', values)
    return path


def change(path: Path, *statements: str) -> None:
    """Write to the database at `path`, as its owner would."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def watched_threads(monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """The threads of all calls of SQLite from now on; SQLite is real, only who calls it is noted."""
    seen: list[threading.Thread] = []
    connect = sqlite3.connect

    class Watched(sqlite3.Connection):
        def execute(self, *given: Any) -> sqlite3.Cursor:
            seen.append(threading.current_thread())
            return super().execute(*given)

        def close(self) -> None:
            seen.append(threading.current_thread())
            super().close()

    def connected(*given: Any, **options: Any) -> sqlite3.Connection:
        seen.append(threading.current_thread())
        return connect(*given, **{"factory": Watched, **options})

    monkeypatch.setattr(sqlite3, "connect", connected)
    return seen


def rows_of(path: Path, query: str, *values: object) -> list[tuple[Any, ...]]:
    """What `query` gives of the database at `path`."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query, values).fetchall()
