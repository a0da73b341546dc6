"""Rows with the columns of their partners, by declared relations (R3)."""

from __future__ import annotations

import pytest
from asking import ask, ask_ids, opened
from plant_database import fill

from groundgraph.core.errors import ConfigurationError
from groundgraph.sources.sql import SqlSource

SCRIPT = """
CREATE TABLE halls (id INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE machines (id INTEGER PRIMARY KEY, label TEXT, hall_id INTEGER, spare_hall INTEGER);
"""


@pytest.fixture
def plant(tmp_path):
    return fill(
        tmp_path / "plant.db",
        SCRIPT,
        halls=[(1, "Northern foundry"), (2, "Assembly")],
        machines=[(1, "Press", 1, 2), (2, "Lathe", 2, None), (3, "Drill", None, 1)],
    )


def source(path, *relations):
    return opened(SqlSource(path, table="machines", name="plant", relations=relations))


async def test_two_relations_to_one_table_are_told_apart_by_as_and_fields_choose_columns(plant):
    asked = source(
        plant,
        {"from": "machines.hall_id", "to": "halls.id", "fields": ["name"], "as": "home"},
        {"from": "machines.spare_hall", "to": "halls.id", "fields": ["name"], "as": "spare"},
    )
    assert await ask_ids(asked, "press drill", **{"spare.name": "Northern foundry"}) == ["machines/3"]
    assert {"home.name", "spare.name"} <= await asked.metadata_fields()
    assert "home.id" not in await asked.metadata_fields()


@pytest.mark.parametrize(
    ("relation", "message"),
    [
        ("machines.hall_id = halls.nmae", "no column 'nmae'.*Did you mean 'name'"),
        ("machines.hall_id = rooms.id", "no table 'rooms'"),
        ("machines.id = machines.label", "is no key"),
    ],
)
async def test_a_relation_that_leads_nowhere_or_to_many_rows_is_refused(plant, relation, message):
    with pytest.raises(ConfigurationError, match=message):
        await ask(source(plant, relation), "press")


@pytest.mark.parametrize(
    "relation", ["machines.hall_id", "a = b", {"from": "a.b"}, {"from": "a.b", "to": "c.d", "x": 1}]
)
def test_a_relation_that_is_written_otherwise_is_refused_at_once(plant, relation):
    with pytest.raises(ConfigurationError, match="relations"):
        source(plant, relation)
