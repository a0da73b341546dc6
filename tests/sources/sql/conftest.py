"""The database that most tests of the SQL source ask."""

from __future__ import annotations

from pathlib import Path

import pytest
from plant_database import INCIDENTS, PUMPS, fill


@pytest.fixture
def plant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database of a plant: the tables `pumps` and `incidents`. Indexes land in the test's own folder."""
    monkeypatch.chdir(tmp_path)
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


@pytest.fixture(autouse=True)
def _always_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at a server is never put off: on a busy machine every one takes long."""
    from groundgraph.sources.sql.postgres import database

    monkeypatch.setattr(database, "_QUICK", 60.0)
