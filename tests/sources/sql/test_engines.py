"""What a SQL source does over every engine alike: SQLite, any dialect, PostgreSQL without and with its own indexes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from asking import ask, ids, opened
from plant_database import INCIDENTS, PUMPS, change, fill
from portable_dialect import NAME
from postgres_fixture import postgres  # noqa: F401 - a fixture

from groundgraph.core.errors import ConfigurationError, SchemaChanged, SourceUnavailable
from groundgraph.sources.conformance import check_source
from groundgraph.sources.sql import SqlSource, keep_index, portable
from groundgraph.sources.sql.postgres import database as server

SCRIPT = """
CREATE TABLE pumps (id INTEGER PRIMARY KEY, name TEXT, notes TEXT, hours INTEGER, hall TEXT);
CREATE TABLE incidents (id INTEGER PRIMARY KEY, title TEXT, body TEXT, severity TEXT, month TEXT,
    duration DOUBLE PRECISION, day DATE);
CREATE TABLE halls (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE machines (id INTEGER PRIMARY KEY, label TEXT, hall_id INTEGER REFERENCES halls (id), "Order" TEXT);
"""
ROWS: dict[str, Any] = {
    "pumps": PUMPS,
    "incidents": INCIDENTS,
    "halls": [(1, "Northern foundry"), (2, "Assembly")],
    "machines": [(1, "Press", 1, "first"), (2, "Lathe", 2, None), (3, "Drill", None, None)],
}
INDEXES = """
CREATE INDEX ON pumps USING gin (to_tsvector('english', coalesce(name, '') || ' ' || coalesce(notes, '')));
CREATE INDEX ON incidents USING gin (to_tsvector('english', coalesce(title, '') || ' ' || coalesce(body, '')));
CREATE INDEX ON machines USING gin (to_tsvector('english', label));
"""
ON_SERVER = ("PostgreSQL", "PostgreSQL with its own indexes")
HERE = ("SQLite", "any dialect", "any dialect, asynchronous")


@dataclass(frozen=True)
class Plant:
    """A database, how its owner writes to it, and whether the server searches it itself."""

    url: Any
    write: Callable[[str], Any]
    native: bool = False

    def source(self, **options: Any) -> SqlSource:
        return opened(SqlSource(self.url, **{"name": "plant", "index": ":memory:", **options}))


@pytest.fixture(params=[*HERE, *(pytest.param(name, marks=pytest.mark.live) for name in ON_SERVER)])
def plant(request, tmp_path, monkeypatch):
    monkeypatch.setattr(portable, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(portable, "REREAD_SECONDS", 1e-6)
    monkeypatch.setattr(server, "_CATALOGUE_SECONDS", 0.0)
    # A busy machine may take longer to bring an index up to date than a question waits.
    monkeypatch.setattr(keep_index, "REFRESH_WAIT", 60.0)
    if request.param in HERE:
        path = fill(tmp_path / "plant.db", SCRIPT, **ROWS)
        dialect = {"any dialect": NAME, "any dialect, asynchronous": f"{NAME}+aiosqlite"}.get(request.param)
        return Plant(f"{dialect}:///{path}" if dialect else path, partial(change, path))
    running = request.getfixturevalue("postgres")
    url = running.database("engines", SCRIPT)
    running.fill("engines", **ROWS)
    native = request.param != "PostgreSQL"
    if native:
        running.execute(INDEXES, "engines")
    return Plant(url, lambda statement: running.execute(statement, "engines"), native)


@pytest.mark.covers("R3")
async def test_a_change_is_seen_by_the_next_query(plant):
    source = plant.source(table="incidents")
    assert await ask(source, "flood") == []
    plant.write("INSERT INTO incidents VALUES (9, 'Flood', 'The cellar was flooded.', 'low', 'May', 2, NULL)")
    assert ids(await ask(source, "flood")) == ["incidents/9"]
    plant.write("UPDATE incidents SET body = 'Dry again.', title = 'Dry' WHERE id = 9")
    assert await ask(source, "flood") == []
    plant.write("DELETE FROM incidents WHERE id = 1")
    assert "incidents/1" not in ids(await ask(source, "pump leaked"))


@pytest.mark.covers("fault 34", "fault 35")
@pytest.mark.parametrize(("options", "filters"), [({"content_field": "body"}, {}), ({}, {"body": "x"})])
async def test_a_renamed_column_is_named_and_a_filter_on_it_is_no_unknown_name(plant, options, filters):
    source = plant.source(table="incidents", **options)
    assert await ask(source, "pump")
    plant.write("ALTER TABLE incidents RENAME COLUMN body TO text_body")
    with pytest.raises(SchemaChanged, match=r"the field 'body'.*Did you mean 'text_body'") as error:
        await ask(source, "pump", **filters)
    assert error.value.field == "body"
    assert await ask(plant.source(table="incidents"), "pump", text_body="A pump was noisy.")


@pytest.mark.covers("fault 37")
async def test_rows_without_content_come_last_and_empty_so_that_they_are_counted(plant):
    plant.write("UPDATE incidents SET body = NULL WHERE id = 1")
    plant.write("UPDATE incidents SET body = ' ' WHERE id = 5")
    source = plant.source(table="incidents", content_field="body")
    results = await ask(source, "pump valve")
    assert (results[0].source_id, bool(results[0].content.strip())) == ("incidents/3", True)
    assert {r.source_id for r in results if not r.content.strip()} == {"incidents/1", "incidents/5"}
    assert ids(await ask(source, "pump valve", top_k=1)) == ["incidents/3"]


@pytest.mark.covers("fault 34")
async def test_a_missing_table_names_the_nearest(plant):
    source = plant.source(table="pump")
    with pytest.raises(ConfigurationError, match=r"no table 'pump'.*Did you mean 'pumps'"):
        source.get_schema()
    with pytest.raises(ConfigurationError, match="Did you mean 'pumps'"):
        await ask(source, "pump")


@pytest.mark.covers("R3")
async def test_a_source_is_closed_for_good(plant):
    source = plant.source(table="pumps")
    assert await ask(source, "pump")
    await source.close()
    with pytest.raises(SourceUnavailable, match="closed"):
        await ask(source, "pump")


@pytest.mark.covers("R14")
async def test_a_question_is_routed_to_the_table_that_it_is_about(plant):
    source = plant.source(max_tables=1, tables=["incidents", "pumps"])
    assert (await source.route("which incidents were critical"))[0] == "incidents"
    assert {r.metadata["table"] for r in await ask(source, "notes of pump 7 serviced by the crew")} == {"pumps"}


@pytest.mark.covers("R3")
async def test_a_row_is_found_filtered_and_shown_with_its_partner(plant):
    source = plant.source(table="machines", relations=["machines.hall_id = halls.id"])
    assert ids(await ask(source, "lathe press", **{"halls.name": "Assembly"})) == ["machines/2"]
    (press,) = await ask(source, "press")
    assert (press.metadata["halls.name"], press.metadata["Order"]) == ("Northern foundry", "first")
    assert "halls.name: Northern foundry" in press.content
    (drill,) = await ask(source, "drill")
    assert drill.metadata["halls.name"] is None
    if not plant.native:  # an index over the label alone cannot find a word of the hall
        assert ids(await ask(source, "foundry")) == ["machines/1"]
        plant.write("UPDATE halls SET name = 'Paint shop' WHERE id = 1")
        assert ids(await ask(source, "paint shop")) == ["machines/1"]
    (await check_source(source, query="press lathe", filters={"halls.name": "Assembly"})).raise_for_failures()
    with pytest.raises(ConfigurationError, match="is no key"):
        await ask(plant.source(table="halls", relations=["halls.id = machines.hall_id"]), "x")


@pytest.mark.covers("R3")
async def test_a_foreign_key_shows_and_finds_a_row_with_what_tells_its_partner(plant):
    source = plant.source(tables=["machines", "halls"])
    (press,) = await ask(source, "press")
    if plant.native:  # its index knows no word of another table
        assert "halls.name" not in press.metadata
        return
    assert press.content == "id: 1\nlabel: Press\nhall_id: 1\nOrder: first\nhalls.name: Northern foundry"
    # The row whose own word it is comes before those that refer to it.
    assert ids(await ask(source, "foundry")) == ["halls/1", "machines/1"]
    # A filter on a column that the partner has as well is not held against it, so it is not shown.
    (filtered,) = await ask(source, "press", id=1)
    assert filtered.content == "id: 1\nlabel: Press\nhall_id: 1\nOrder: first"
    for other in (plant.source(tables=["machines", "halls"], relations=[]), plant.source(table="machines")):
        assert all("halls.name" not in row.metadata for row in await ask(other, "press foundry"))
