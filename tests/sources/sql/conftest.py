"""The database that most tests of the SQL source ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from asking import opened
from plant_database import INCIDENTS, PUMPS, fill
from sqlalchemy import Engine, event

from groundgraph.sources.sql import SqlSource


@pytest.fixture
def plant(tmp_path: Path) -> Path:
    """A database of a plant: the tables `pumps` and `incidents`. Indexes land in the test's own folder."""
    return fill(
        tmp_path / "plant.db",
        """
        CREATE TABLE pumps (id INTEGER PRIMARY KEY, name TEXT, notes TEXT, hours INTEGER, hall TEXT);
        CREATE TABLE incidents (id INTEGER PRIMARY KEY, title TEXT, body TEXT, severity TEXT, month TEXT,
            duration REAL, day DATE);
        """,
        pumps=PUMPS,
        incidents=INCIDENTS,
    )


@pytest.fixture
def over(tmp_path: Path) -> Callable[..., SqlSource]:
    """The source `plant` over tables of the test's own: a script, the rows by table, the options of the source."""

    def made(script: str, options: Mapping[str, Any] | None = None, **rows: list[tuple[object, ...]]) -> SqlSource:
        path = fill(tmp_path / "own.db", script, **rows)
        return opened(SqlSource(path, **{"name": "plant", "index": ":memory:", **(options or {})}))

    return made


@pytest.fixture
def statements() -> Iterator[list[tuple[str, Any]]]:
    """Each statement that SQLAlchemy sends meanwhile, with its parameters."""
    said: list[tuple[str, Any]] = []

    def keep(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        said.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", keep)
    yield said
    event.remove(Engine, "before_cursor_execute", keep)


@pytest.fixture(autouse=True)
def _always_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at a server is never put off: on a busy machine every one takes long."""
    from groundgraph.sources.sql.postgres import database

    monkeypatch.setattr(database, "_QUICK", 60.0)
