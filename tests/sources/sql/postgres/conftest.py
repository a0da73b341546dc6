"""Servers for the live tests of the SQL source."""

from __future__ import annotations

import pytest
from plant_database import INCIDENTS, PUMPS
from postgres_fixture import postgres, vector_server  # noqa: F401 - fixtures
from postgres_server import PostgresServer

PLANT = """
CREATE TABLE pumps (id INTEGER PRIMARY KEY, name TEXT, notes TEXT, hours INTEGER, hall TEXT);
CREATE TABLE incidents (id INTEGER PRIMARY KEY, title TEXT, body TEXT, severity TEXT, month TEXT,
    duration DOUBLE PRECISION, day DATE);
"""
INDEXES = """
CREATE INDEX pumps_text ON pumps USING gin (to_tsvector('english', coalesce(name, '') || ' ' || coalesce(notes, '')));
ALTER TABLE incidents ADD words tsvector GENERATED ALWAYS AS
    (to_tsvector('english', coalesce(title, '') || ' ' || coalesce(body, ''))) STORED;
CREATE INDEX incidents_text ON incidents USING gin (words);
ANALYZE;
"""


@pytest.fixture(params=["own", "database"])
def plant(
    request: pytest.FixtureRequest,
    postgres: PostgresServer,  # noqa: F811,
) -> str:
    """The database of a plant, without and with full-text indexes of its own."""
    url = postgres.database("plant", PLANT)
    postgres.fill("plant", pumps=PUMPS, incidents=INCIDENTS)
    if request.param == "database":
        postgres.execute(INDEXES, "plant")
    return url
