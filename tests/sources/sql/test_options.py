"""The configuration of SQL sources, and tables in memory (R3, R11)."""

from __future__ import annotations

import json

import pytest
from asking import ask, ask_ids, opened

from groundgraph.core.errors import ConfigurationError, SourceUnavailable
from groundgraph.sources.contract import SourceOptions, source_types
from groundgraph.sources.sql import SqlSource

pytestmark = pytest.mark.covers("R3")

RECORDS = [
    {"id": "a", "title": "Refund policy", "summary": "Money back in 30 days.", "year": 2024, "tags": ["money", "law"]},
    {"id": "b", "title": "Shipping", "summary": "Refund of shipping costs.", "year": 2025, "tags": ["post"]},
    {"id": "c", "title": "Privacy", "summary": "What we store.", "year": 2026, "tags": []},
]
DOCUMENTED = {
    "backend": "memory",
    "content_field": "summary",
    "text_search_fields": ["title", "summary", "tags"],
    "schema": {"fields": [{"name": "title", "type": "string"}, {"name": "summary", "type": "text"}]},
}


def built(folder, kind="database", **options):
    return opened(source_types.get(kind)(SourceOptions("cases", options, folder, "sources[0]")))


@pytest.mark.covers("R11")
@pytest.mark.parametrize("kind", ["sql", "database"])
async def test_a_database_is_configured_by_path_relative_to_the_configuration(plant, kind):
    source = built(plant.parent, kind, url="sqlite:///plant.db", table="pumps", index="beside.sqlite")
    assert source.source_type == kind
    assert (await ask_ids(source, "pump 17"))[0] == "pumps/17"
    assert (plant.parent / "beside.sqlite").exists()


async def test_the_documented_memory_table_takes_records(tmp_path):
    source = built(tmp_path, **DOCUMENTED, records=RECORDS)
    results = await ask(source, "refund policy")
    assert [(r.source_id, r.relevance) for r in results] == [("cases/a", 0.5), ("cases/b", 0.5)]
    assert results[0].content == "Money back in 30 days."
    assert await ask_ids(source, "refund", year={"gte": 2025}) == ["cases/b"]
    assert await ask_ids(source, "refund", tags="law") == ["cases/a"]
    assert source.get_schema().fields["tags"] == {"type": "array"}
    assert list(tmp_path.iterdir()) == []


async def test_the_documented_memory_table_may_be_empty(tmp_path):
    source = built(tmp_path, backend="memory", content_field="summary", text_search_fields=["title", "summary"])
    assert await ask_ids(source, "refund") == []


@pytest.mark.parametrize("name", ["r.csv", "r.jsonl"])
async def test_a_memory_table_is_read_from_a_file(tmp_path, name):
    if name.endswith("csv"):
        lines = ["id,title,year", 'x,"Pump, red",2024', "y,Pump blue,"]
    else:
        lines = [
            json.dumps({"id": "x", "title": "Pump, red", "year": 2024}),
            "",
            json.dumps({"id": "y", "title": "Pump blue"}),
        ]
    (tmp_path / name).write_text("\ufeff" + "\n".join(lines), "utf-8")
    source = built(tmp_path, backend="memory", path=name)
    assert await ask_ids(source, "red pump") == ["cases/x", "cases/y"]
    assert await ask_ids(source, "pump", year={"gte": 2000}) == ["cases/x"]
    assert source.get_schema().fields["year"] == {"type": "integer"}


async def test_a_file_of_records_that_is_not_there_is_unavailable(tmp_path):
    source = built(tmp_path, backend="memory", path="none.csv")
    with pytest.raises(SourceUnavailable, match=r"none\.csv"):
        await ask_ids(source, "x")


@pytest.mark.covers("R11")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": "a.db", "tabel": "x"}, "no option 'tabel'. Did you mean 'table'"),
        ({"backend": "memori"}, "Did you mean 'memory'"),
        ({}, "url: is missing"),
        ({"url": "mysql://u:secret@h/d"}, "'mysql://h/d' needs a driver that is not installed"),
        ({"url": "mongodb://u:secret@h/d"}, "'mongodb://h/d' is no database that groundgraph reads"),
        ({"url": "mysql+pymysql://h/d", "backend": "sqlite"}, "the url names another database"),
        pytest.param(
            {"url": "postgresql://u:secret@h:x/d"},
            "url: 'postgresql.*://h:x/d' is no address.*host:port",
            marks=pytest.mark.covers("F11"),
        ),
        pytest.param(
            {"url": "mysql+pymysql://u:secret@h:x/d"},
            "url: '.*://h:x/d' is no address.*host:port",
            marks=pytest.mark.covers("F11"),
        ),
        ({"url": "file:a.db"}, "a URI of SQLite's own"),
        ({"url": "sqlite://"}, "names no file"),
        ({"url": "a.db", "tables": "x"}, "tables: must be a list"),
        ({"url": "a.db", "max_tables": 0}, "must be a number, 1 or more"),
        ({"url": "a.db", "table": "x", "tables": ["y"]}, "either `table` or `tables`"),
        ({"url": "a.db", "fts": "x"}, "belongs to one `table`"),
        ({"url": "a.db", "schema": {"fields": [{"type": "string"}]}}, "must list fields"),
        ({"url": "a.db", "schema": {"year": {"type": "yeer"}}}, "'yeer' is not one of"),
        ({"backend": "memory", "records": ["x"]}, "a record maps"),
    ],
)
def test_a_bad_option_is_an_error_that_says_what_to_do(tmp_path, options, message):
    with pytest.raises(ConfigurationError, match=message) as error:
        built(tmp_path, **options)
    assert "secret" not in str(error.value)


@pytest.mark.covers("R2")
@pytest.mark.parametrize(
    "schema",
    [
        {"fields": [{"name": "year", "type": "integer", "enum": [2024]}]},
        {"fields": {"year": {"type": "integer", "enum": [2024]}}},
        {"year": {"type": "integer", "enum": [2024]}},
        [{"name": "year", "type": "integer", "enum": [2024]}],
    ],
)
async def test_the_schema_may_be_a_list_or_a_mapping(schema):
    source = opened(SqlSource.from_records(RECORDS, name="cases", schema=schema))
    assert source.get_schema().fields["year"] == {"type": "integer", "enum": [2024]}
    assert source.get_schema().fields["title"] == {"type": "string"}
