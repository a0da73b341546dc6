"""The source over a database of which nothing is known but its dialect for SQLAlchemy (R3)."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import asynccontextmanager

import pytest
from asking import ask, ids
from plant_database import fill
from portable_dialect import NAME
from sqlalchemy import text

from groundgraph import load_settings, retrieval_graph
from groundgraph.core.errors import ConfigurationError, SourceTimeout, SourceUnavailable
from groundgraph.sources.conformance import check_source
from groundgraph.sources.sql import SqlSource, portable
from groundgraph.sources.sql.location import OtherAddress
from groundgraph.sources.sql.shape import Wanted

DRIVERS = ("", "+aiosqlite")
NOTES = """
CREATE TABLE notes (id INTEGER PRIMARY KEY, tenant TEXT COLLATE NOCASE, body TEXT, weight REAL, day DATE,
    seen DATETIME, done BOOLEAN, tags JSON);
CREATE TABLE pairs (left_id INTEGER, day DATE, body TEXT, PRIMARY KEY (left_id, day));
CREATE VIEW recent AS SELECT tenant, body, day FROM notes;
"""
ROWS = {
    "notes": [
        (1, "acme", "The pump of hall one leaks.", 0.1, "2026-03-01", "2026-03-01 10:00:00", 1, '["seal", "pump"]'),
        (2, "ACME", "The pump of hall two is dry.", 2.5, "2026-04-01", "2026-04-01 10:00:00", 0, "[]"),
        (3, "acme ", "A pump was painted.", None, None, None, None, None),
        (4, "other", "Ein Überdruckventil klemmt.", 7, "2026-05-01", "2026-05-01 23:59:59", 1, None),
    ],
    "pairs": [(1, "2026-01-01", "A valve was opened."), (1, "2026-01-02", "A valve was closed.")],
}


@pytest.fixture(params=DRIVERS)
def url(request, tmp_path):
    return f"{NAME}{request.param}:///{fill(tmp_path / 'some.db', NOTES, **ROWS)}"


@asynccontextmanager
async def opened(url, **options):
    source = SqlSource(url, **{"name": "some", "table": "notes", **options})
    try:
        yield source
    finally:
        await source.close()


@pytest.mark.covers("R3")
@pytest.mark.parametrize("table", ["notes", "pairs", "recent"])
async def test_any_dialect_keeps_the_contract(url, table):
    (await check_source(SqlSource(url, name="some", table=table), query="pump valve hall")).raise_for_failures()


@pytest.mark.covers("R3")
async def test_what_is_found_is_what_sqlite_finds(url, tmp_path):
    async with opened(url) as portable, opened(tmp_path / "some.db", index=":memory:") as known:
        for question in ("Which pump leaks in hall one?", "Überdruckventile", "painted pumps"):
            there, here = await ask(portable, question), await ask(known, question)
            assert [(r.source_id, r.content, r.relevance, r.score) for r in there] == [
                (r.source_id, r.content, r.relevance, r.score) for r in here
            ]
        # JSON null and dates are those of the dialect, and not of SQLite.
        assert {r.metadata["day"] for r in await ask(portable, "pump")} == {"2026-03-01", "2026-04-01", None}
        assert portable.get_schema().fields.keys() == known.get_schema().fields.keys()


@pytest.mark.covers("R3")
async def test_keys_of_several_columns_and_rows_without_a_key(url):
    async with opened(url, table="pairs") as source:
        found = await ask(source, "valve")
        assert sorted(ids(found)) == ["pairs/1,2026-01-01", "pairs/1,2026-01-02"]
        assert ids(await ask(source, "valve", day="2026-01-02")) == ["pairs/1,2026-01-02"]
    async with opened(url, table="recent") as source:
        assert len(await ask(source, "pump")) == 3
        assert [r.metadata["tenant"] for r in await ask(source, "pump", tenant="ACME")] == ["ACME"]


@pytest.mark.covers("R15")
async def test_a_computation_is_said_to_be_needed(url):
    async with opened(url) as source:
        first, *_ = await ask(source, "How many notes are there about the pump?")
        assert first.metadata["needs_computation"]
        assert "is not offered" in first.content


@pytest.mark.covers("L5")
async def test_only_selects_with_bound_values_and_no_row_is_read_for_a_question(url, statements):
    async with opened(url) as source:
        await source.refresh()
        built = len(statements)
        assert ids(await ask(source, "leaks", tenant="acme")) == ["notes/1"]
    assert {statement.split()[0].upper() for statement, _ in statements} <= {"SELECT", "PRAGMA"}
    asked = [one for one in statements[built:] if "body" in one[0]]
    # The row that is shown, and no other; the filter and the key are values and no SQL.
    assert ["WHERE" in statement and "acme" not in statement for statement, _ in asked] == [True]


@pytest.mark.covers("R3")
async def test_many_rows_are_read_in_pieces_with_a_key_and_without(tmp_path, monkeypatch):
    monkeypatch.setattr(portable, "PIECE", 7)
    rows = [(f"k{n:02}", f"word{n}") for n in range(30)]
    script = "CREATE TABLE t (id TEXT PRIMARY KEY, body TEXT); CREATE VIEW v AS SELECT id, body FROM t;"
    path = fill(tmp_path / "many.db", script, t=rows)
    for table in ("t", "v"):
        async with opened(f"{NAME}:///{path}", table=table, index=":memory:") as source:
            assert [len(await ask(source, f"word{n}")) for n in (0, 6, 7, 29)] == [1, 1, 1, 1]


@pytest.mark.covers("R3")
async def test_a_table_that_is_too_large_for_an_index_here_is_refused(url, monkeypatch):
    monkeypatch.setattr(portable, "MOST_ROWS_HERE", 3)
    async with opened(url) as source:
        with pytest.raises(ConfigurationError, match="'notes' has 4 rows, and at most 3"):
            await ask(source, "pump")


@pytest.mark.covers("fault 34")
async def test_a_database_that_is_gone_is_told(url):
    async with opened(url.replace("some.db", "gone/none.db")) as source:
        with pytest.raises(SourceUnavailable, match="cannot be read"):
            await ask(source, "pump")


@pytest.mark.covers("fault 31")
async def test_an_asynchronous_database_that_hangs_ends_in_time(tmp_path, monkeypatch):
    monkeypatch.setattr(portable, "STATEMENT_SECONDS", 0.0)
    path = fill(tmp_path / "some.db", NOTES, **ROWS)
    async with opened(f"{NAME}+aiosqlite:///{path}") as source:
        with pytest.raises(SourceTimeout, match="did not answer within"):
            await ask(source, "pump")


@pytest.mark.covers("fault 31")
async def test_a_connection_that_comes_about_behind_the_end_is_dropped(tmp_path, monkeypatch):
    monkeypatch.setattr(portable, "STATEMENT_SECONDS", 0.2)
    path = fill(tmp_path / "some.db", NOTES, **ROWS)
    go_on, threads, plain = threading.Event(), [], sqlite3.connect

    def late(*args, **options):
        threads.append(threading.current_thread())
        assert go_on.wait(60)
        return plain(*args, **options)

    async with opened(f"{NAME}+aiosqlite:///{path}") as source:
        with monkeypatch.context() as patch:
            patch.setattr(sqlite3, "connect", late)
            with pytest.raises(SourceTimeout, match="did not answer within"):
                await ask(source, "pump")
    go_on.set()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    # Whatever such a thread raises fails this test.
    assert threads


@pytest.mark.covers("R11")
def test_what_only_sqlite_or_postgresql_has_is_refused(tmp_path):
    url = f"{NAME}:///{tmp_path}/x.db"
    with pytest.raises(ConfigurationError, match="FTS5 table of SQLite"):
        SqlSource(url, name="some", table="notes", fts="words")


@pytest.mark.covers("R3")
async def test_a_turn_answers_from_any_database_through_the_configuration(url):
    entry = {"type": "sql", "name": "some", "url": url, "tables": ["notes", "pairs"]}
    graph = retrieval_graph(load_settings({"sources": [entry], "retrieval": {"score_threshold": 0.3}}))
    found = await graph.ainvoke({"messages": "Which pump leaks?"})
    assert [row["source_id"] for row in found["evidence"]][:1] == ["notes/1"]
    assert found["provenance"]["sources"]["some"]["status"] == "ok"
    await graph.resources.close()


@pytest.mark.covers("fault 45")
def test_a_source_that_is_closed_ends_what_is_being_read(tmp_path, monkeypatch):
    path = fill(tmp_path / "some.db", NOTES, **ROWS)
    address = OtherAddress(f"{NAME}+aiosqlite:///{path}")
    reading = portable.PortableDatabase(address, source="some", wanted=Wanted(["notes"]))
    numbers = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 4000000) SELECT max(x) FROM n"
    told: list[str] = []

    def ask() -> None:
        try:
            reading._rows(text(numbers))
        except SourceUnavailable as error:
            told.append(str(error))

    reading.shapes(Wanted(["notes"]))
    begun = threading.Event()
    plain = reading._connections.run

    def run(work):
        begun.set()
        return plain(work)

    monkeypatch.setattr(reading._connections, "run", run)
    waiting = threading.Thread(target=ask)
    waiting.start()
    assert begun.wait(30)
    reading.close()
    waiting.join(30)
    assert not waiting.is_alive()
    assert told[0].startswith("The source 'some' was closed while")


@pytest.mark.covers("fault 45")
def test_what_is_asked_while_a_source_is_closed_neither_hangs_nor_escapes(tmp_path):
    path = fill(tmp_path / "some.db", NOTES, **ROWS)
    connections = portable.open_connections(f"{NAME}+aiosqlite:///{path}")
    assert connections.run(lambda connection: connection.execute(text("SELECT 1")).scalar()) == 1
    connections.close()
    with pytest.raises(SourceUnavailable, match="was closed while"), portable.typed_errors("some", "it"):
        connections.run(lambda connection: connection.execute(text("SELECT 1")).scalar())
