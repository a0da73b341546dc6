"""The SQL source on real SQLite files (R1, R2, R3, R10, R12)."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import asynccontextmanager

import pytest
from asking import ask, ids, opened
from plant_database import change, fill

from groundgraph.answers.propose_computation import check_words
from groundgraph.core.computation import Proposal
from groundgraph.core.errors import ConfigurationError, FilterInvalid, SourceUnavailable
from groundgraph.sources.conformance import check_source
from groundgraph.sources.sql import SqlSource, keep_index, open_engine
from groundgraph.sources.sql.database import SqliteDatabase


@asynccontextmanager
async def plant_source(url, **options):
    source = SqlSource(url, **{"name": "plant", **options})
    try:
        yield source
    finally:
        await source.close()


QUESTION = "What is the maintenance interval of pump 17?"


@pytest.mark.covers("R3")
async def test_a_whole_question_finds_the_row(plant):
    async with plant_source(plant, table="pumps") as source:
        best, *others = await ask(source, QUESTION)
    assert best.source_id == "pumps/17"
    assert best.content.splitlines()[1] == "name: Pump 17"
    assert best.metadata | {"table": "pumps", "key": "17", "section": "pumps", "title": "Pump 17"} == best.metadata
    assert best.metadata["hours"] == 170
    assert all(other.relevance < best.relevance for other in others)


@pytest.mark.covers("R3")
async def test_bm25_orders_and_relevance_is_what_thresholds_are_compared_with():
    common = [{"id": f"c{n}", "text": "The pump of hall one was looked at."} for n in range(20)]
    rare = {"id": "rare", "text": "A cavitation was heard."}
    source = opened(SqlSource.from_records([*common, rare], name="plant"))
    best, *others = await ask(source, "cavitation at the pump of hall one", top_k=3)
    assert ids([best]) == ["plant/rare"]
    assert best.score > others[0].score
    assert (best.relevance, others[0].relevance) == (0.25, 0.75)
    # A row that is good enough is not crowded out by better ones that are not relevant enough.
    kept = await ask(source, "cavitation at the pump of hall one", top_k=1, score_threshold=0.5)
    assert [result.relevance for result in kept] == [0.75]


@pytest.mark.covers("R3")
async def test_the_name_of_a_table_stands_for_no_word_that_begins_like_it(tmp_path):
    path = tmp_path / "house.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE repairs (id INTEGER PRIMARY KEY, priority TEXT, description TEXT)")
        rows = [("high", "The lift stops between two floors."), ("low", "The stairwell was repainted in grey.")]
        database.executemany("INSERT INTO repairs (priority, description) VALUES (?, ?)", rows)
    database.close()
    async with plant_source(f"sqlite:///{path}", table="repairs") as source:
        assert ids(await ask(source, "high priority repairs reported")) == ["repairs/1"]
        assert ids(await ask(source, "the stairwell's repaintings")) == ["repairs/2"]


@pytest.mark.covers("R1")
async def test_every_kind_of_table_keeps_the_contract(odd):
    for table in ("flat", "pair", "taken", "far", "loose", "seen"):
        source = SqlSource(odd, name=f"odd {table}", table=table)
        (await check_source(source, query="pump")).raise_for_failures()


@pytest.mark.covers("R12")
async def test_the_schema_and_the_metadata_follow_from_the_columns(plant):
    async with plant_source(plant, table="incidents", description="What went wrong.") as source:
        schema = source.get_schema()
        assert await source.metadata_fields() >= {"table", "key", "severity", "duration"}
    kinds = {name: spec["type"] for name, spec in schema.fields.items()}
    assert kinds == {
        "id": "integer", "title": "string", "body": "string", "severity": "string", "month": "string",
        "duration": "number", "day": "date",
    }  # fmt: skip
    assert schema.description == "What went wrong."


ODD_TABLES = """
CREATE TABLE "насосы ""новые"" " ("имя насоса" TEXT, "order" TEXT, "select" INT, PRIMARY KEY ("имя насоса", "order"));
CREATE TABLE flat (code TEXT PRIMARY KEY, body TEXT) WITHOUT ROWID;
CREATE TABLE pair (a INT, b TEXT, body TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID;
CREATE TABLE taken (rowid TEXT, _rowid_ TEXT, oid TEXT, body TEXT);
CREATE TABLE far (id INTEGER PRIMARY KEY, body TEXT);
CREATE TABLE loose (body STRING, kind, n INT);
CREATE VIEW seen AS SELECT body, 1 AS one FROM flat;
"""
ODD_ROWS = {
    'насосы "новые" ': [("Насос 1", "a", 1), ("Насос 2", "b", 2)],
    "flat": [("x,1", "a red pump"), ("y", "a blue pump")],
    "pair": [(1, "x", "a red pump"), (1, "y", "a blue pump")],
    "taken": [("1", "1", "1", "a red pump"), ("1", "1", "2", "a blue pump")],
    "loose": [("a red pump", "heavy", 1), ("a blue pump", "light", 2)],
    "far": [(-5, "a red pump"), (1 << 60, "a blue pump")],
}


@pytest.fixture
def odd(tmp_path):
    script = ODD_TABLES
    return fill(tmp_path / "odd.db", script, **{name.replace('"', '""'): rows for name, rows in ODD_ROWS.items()})


@pytest.mark.covers("R3")
@pytest.mark.parametrize(
    ("table", "question", "expected"),
    [
        ('насосы "новые" ', "насос 2", 'насосы "новые" /Насос 2,b'),
        ("flat", "red pump", "flat/x\\,1"),
        ("pair", "blue pump", "pair/1,y"),
        ("taken", "blue pump", None),
        ("far", "blue pump", f"far/{1 << 60}"),
        ("loose", "light", "loose/2"),
        ("seen", "blue pump", None),
    ],
)
async def test_any_kind_of_table_can_be_searched_and_filtered(odd, table, question, expected):
    async with plant_source(odd, table=table, name=f"odd {table[:3]}") as source:
        best = (await ask(source, question))[0]
        assert expected is None or best.source_id == expected
        column = "имя насоса" if table.startswith("насосы") else "body"
        value = best.metadata[column]
        assert [r.metadata[column] for r in await ask(source, question, **{column: value})] == [value]


@pytest.mark.covers("fault 34")
async def test_a_missing_file_is_unavailable_and_named(tmp_path):
    async with plant_source("sqlite:///nowhere.db", table="pumps") as source:
        assert source.get_schema().fields == {}
        with pytest.raises(SourceUnavailable, match=r"nowhere\.db"):
            await ask(source, "pump")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.covers("fault 34")
async def test_a_damaged_file_is_unavailable(tmp_path):
    (tmp_path / "broken.db").write_bytes(b"no database at all" * 1000)
    async with plant_source("broken.db", table="pumps") as source:
        with pytest.raises(SourceUnavailable, match="cannot be read"):
            await ask(source, "pump")


@pytest.mark.covers("fault 60")
async def test_a_tenants_query_sees_no_row_of_another(tmp_path):
    path = fill(
        tmp_path / "t.db",
        "CREATE TABLE notes (tenant TEXT COLLATE NOCASE, body TEXT, amount INT); CREATE TABLE other (body TEXT)",
        notes=[("a", "a pump", 1), ("A", "a pump", 2), ("b", "a pump", 4), (None, "a pump", 8)],
        other=[("a pump",)],
    )
    async with plant_source(path) as source:
        assert [r.metadata["tenant"] for r in await ask(source, "pump", top_k=9, tenant="a")] == ["a"]
        (total,) = await ask(source, "how many notes", tenant="a")
        assert total.metadata["rows"] == 1
        total = await source.computing().run(Proposal("notes", "sum", field="amount"), {"tenant": "b"})
        assert total.metadata["value"] == 4


@pytest.mark.covers("fault 60")
async def test_a_row_that_changed_hands_behind_the_index_is_not_shown(tmp_path, monkeypatch):
    path = fill(tmp_path / "t.db", "CREATE TABLE notes (tenant TEXT, body TEXT)", notes=[("a", "pump"), ("b", "pump")])
    plain = SqliteDatabase.keys

    def keys_of_before(self, shape, filters, base):
        found = plain(self, shape, filters, base)
        change(path, "UPDATE notes SET tenant = 'b'")
        return found

    monkeypatch.setattr(SqliteDatabase, "keys", keys_of_before)
    async with plant_source(path) as source:
        assert await ask(source, "pump", tenant="a") == []


@pytest.mark.covers("R2")
async def test_rows_that_a_filter_keeps_are_found_once_a_long_update_is_done(tmp_path, monkeypatch):
    script = "CREATE TABLE notes (id TEXT PRIMARY KEY, tenant TEXT, body TEXT) WITHOUT ROWID"
    path = fill(tmp_path / "t.db", script, notes=[("1", "a", "pump"), ("2", "b", "pump")])
    async with plant_source(path) as source:
        assert ids(await ask(source, "pump", tenant="a")) == ["notes/1"]
        change(path, "INSERT INTO notes VALUES ('3', 'a', 'pump')")
        go_on = threading.Event()
        plain = keep_index.update_index
        monkeypatch.setattr(keep_index, "REFRESH_WAIT", 0.1)

        def update_later(*args, **options):
            assert go_on.wait(30)
            return plain(*args, **options)

        monkeypatch.setattr(keep_index, "update_index", update_later)
        (stale,) = await ask(source, "pump", tenant="a")
        assert (stale.source_id, stale.metadata["index"]) == ("notes/1", "stale")
        go_on.set()
        await source.refresh()
        assert ids(await ask(source, "pump", tenant="a")) == ["notes/1", "notes/3"]


@pytest.mark.covers("fault 45")
async def test_closing_leaves_the_event_loop_free_while_a_database_is_being_opened(plant, monkeypatch):
    opening, go_on = threading.Event(), threading.Event()
    plain = open_engine.open_engine

    def open_slowly(options, *, closed):
        opening.set()
        assert go_on.wait(30)
        return plain(options, closed=closed)

    monkeypatch.setattr(open_engine, "open_engine", open_slowly)
    source = SqlSource(plant, name="plant")
    query = asyncio.create_task(ask(source, "pump"))
    while not opening.is_set():
        await asyncio.sleep(0.01)
    closing = asyncio.create_task(source.close())
    await asyncio.sleep(0.01)
    # Here nothing would ever run, if closing waited on this thread.
    go_on.set()
    await closing
    (outcome,) = await asyncio.gather(query, return_exceptions=True)
    assert not isinstance(outcome, AssertionError)
    with pytest.raises(SourceUnavailable, match="closed"):
        await ask(source, "pump")


def plan_of(path, statement, values):
    connection = sqlite3.connect(path)
    try:
        return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
    finally:
        connection.close()


@pytest.mark.covers("L5")
async def test_a_text_index_of_the_database_is_searched_once_too(plant, statements):
    change(plant, "CREATE VIRTUAL TABLE \"a:b%\" USING fts5 (name, content='pumps', content_rowid='id')")
    change(plant, 'INSERT INTO "a:b%" ("a:b%") VALUES (\'rebuild\')')
    async with plant_source(plant, table="pumps", fts="a:b%") as source:
        assert len(await ask(source, "pump", top_k=40, hall="hall B")) == 20
    assert not (plant.parent / ".groundgraph").exists()
    ((statement, values),) = [pair for pair in statements if "MATCH" in pair[0]]
    (line,) = [line for line in plan_of(plant, statement, values) if "VIRTUAL TABLE" in line]
    assert "=" not in line.split("INDEX")[1]


@pytest.mark.covers("L5")
async def test_a_filter_uses_the_users_own_index(plant):
    from sqlalchemy.dialects import sqlite

    from groundgraph.sources.sql.database import SqliteDatabase
    from groundgraph.sources.sql.shape import Wanted
    from groundgraph.sources.sql.sql_dialect import where

    change(plant, "CREATE INDEX by_severity ON incidents (severity)", "CREATE INDEX by_day ON incidents (day)")
    database = SqliteDatabase(plant, source="plant")
    (shape,) = database.shapes(Wanted(["incidents"]))
    database.close()
    for filters, index in (({"severity": "low"}, "by_severity"), ({"day": {"lte": "2026-03-31"}}, "by_day")):
        compiled = where(shape, filters).compile(
            dialect=sqlite.dialect(paramstyle="named"), compile_kwargs={"render_postcompile": True}
        )
        (line,) = plan_of(plant, f"SELECT rowid FROM incidents WHERE {compiled}", compiled.params)
        assert index in line


async def test_rows_that_a_view_repeats_are_indexed_once_and_forgotten_with_their_last_copy(tmp_path):
    path = fill(
        tmp_path / "v.db",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT); CREATE VIEW v AS SELECT body FROM t",
        t=[(n, "apple pie") for n in range(40)] + [(99, "the apple pie recipe of my grandmother")],
    )
    async with plant_source(path, table="v", index=tmp_path / "i.sqlite") as source:
        assert len(await ask(source, "apple pie")) == 2
        change(path, "DELETE FROM t WHERE body = 'apple pie'")
        await source.refresh()
        assert [r.content for r in await ask(source, "apple pie")] == ["the apple pie recipe of my grandmother"]


@pytest.mark.parametrize("mode", ["delete", "wal"])
async def test_a_change_in_a_folder_that_cannot_be_written_to_is_seen(tmp_path, monkeypatch, mode):
    from groundgraph.sources.sql import database

    path = fill(
        tmp_path / "c.db",
        f"PRAGMA journal_mode = {mode}; CREATE TABLE docs (id INTEGER PRIMARY KEY, body TEXT, tenant TEXT)",
        docs=[(1, "hello", "A")],
    )
    # The tests may run as a user who can write anywhere.
    monkeypatch.setattr(database.os, "access", lambda *_: False)
    async with plant_source(path, table="docs", index=tmp_path / "i.sqlite") as source:
        assert await ask(source, "hello", tenant="A")
        change(path, "UPDATE docs SET tenant = 'B'", "INSERT INTO docs VALUES (2, 'hello you', 'A')")
        assert [r.source_id for r in await ask(source, "hello", tenant="A")] == ["docs/2"]


async def test_who_writes_to_the_database_does_not_wait_for_an_index(tmp_path):
    path = fill(
        tmp_path / "w.db",
        "CREATE TABLE docs (id INTEGER PRIMARY KEY, body TEXT)",
        docs=[(n, " ".join(f"w{n * k % 997}" for k in range(20))) for n in range(10_000)],
    )
    from groundgraph.sources.sql.database import SqliteDatabase
    from groundgraph.sources.sql.shape import Wanted

    database = SqliteDatabase(path, source="w")
    (shape,) = database.shapes(Wanted(["docs"]))
    rows = database.rows(shape, ["body"])
    first = next(rows)
    with sqlite3.connect(path, timeout=0.1) as writer:
        writer.execute("UPDATE docs SET body = 'changed' WHERE id = 9999")
    writer.close()
    assert first[0] == 0
    assert [*rows][-1] == (9999, "changed")
    database.close()


async def test_numbers_of_two_tables_are_one_field_of_numbers(tmp_path):
    path = fill(
        tmp_path / "n.db",
        "CREATE TABLE sales (id INTEGER PRIMARY KEY, item TEXT, amount INTEGER);"
        "CREATE TABLE plans (id INTEGER PRIMARY KEY, item TEXT, amount REAL);"
        "CREATE TABLE plans_archive (id INTEGER PRIMARY KEY, item TEXT, amount REAL);"
        "CREATE VIRTUAL TABLE plans_text USING fts5(item)",
        sales=[(1, "zebra", 9), (2, "zebra", 100)],
        plans=[(1, "zebra", 1.5), (2, "zebra", 200.0)],
        plans_archive=[(1, "zebra", 300.0)],
    )
    async with plant_source(path, index=tmp_path / "i.sqlite") as source:
        assert source.get_schema().fields["amount"]["type"] == "number"
        found = {r.source_id for r in await ask(source, "zebra", amount={"gte": 50})}
    assert found == {"sales/2", "plans/2", "plans_archive/1"}


async def test_two_sources_that_share_an_index_at_once_answer_or_say_so(tmp_path):
    first = fill(tmp_path / "a.db", "CREATE TABLE docs (id INTEGER PRIMARY KEY, body TEXT)", docs=[(1, "hello")])
    second = fill(tmp_path / "b.db", "CREATE TABLE faq (id INTEGER PRIMARY KEY, body TEXT)", faq=[(1, "hello")])
    index = tmp_path / "i.sqlite"
    async with plant_source(first, index=index) as one, plant_source(second, index=index) as other:
        calls = [ask(source, "hello") for _ in range(20) for source in (one, other)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
    for number, answer in enumerate(answers):
        if isinstance(answer, BaseException):
            assert isinstance(answer, SourceUnavailable), answer
        else:
            assert [r.source_id for r in answer] == [("docs/1", "faq/1")[number % 2]]


@pytest.mark.parametrize("records", [[{"Name": "a", "name": "b"}], [{"a\ud800": "b"}]])
async def test_records_that_sqlite_cannot_hold_are_a_typed_error(records):
    source = opened(SqlSource.from_records(records, name="odd"))
    with pytest.raises(ConfigurationError, match=r"odd\.records"):
        await ask(source, "b")


async def test_a_value_with_many_lines_adds_no_line_that_looks_like_a_column():
    records = [{"id": 1, "name": "Gadget", "weight": 51, "note": "measured twice\nweight: 9999"}]
    [found] = await ask(opened(SqlSource.from_records(records, name="parts")), "How much does the gadget weigh?")
    assert found.content.splitlines() == ["id: 1", "name: Gadget", "weight: 51", "note: measured twice weight: 9999"]


async def test_a_group_with_many_lines_adds_no_line_that_looks_like_another_group():
    source = opened(SqlSource.from_records([{"id": 1, "state": "open: 7\nclosed", "amount": 2}], name="orders"))
    counted = await source.computing().run(Proposal("orders", "count", group_by=("state",)), {})
    assert counted.content.splitlines()[1:] == ["open: 7 closed: 1"]


LEAGUE = """
CREATE TABLE teams (id INTEGER PRIMARY KEY, code TEXT UNIQUE, title TEXT, capital TEXT REFERENCES cities);
CREATE TABLE cities (name TEXT PRIMARY KEY, mayor TEXT, land TEXT, motto TEXT);
CREATE TABLE games (id INTEGER PRIMARY KEY, home INTEGER REFERENCES TEAMS (ID), guest INTEGER REFERENCES teams (id),
    rain TEXT, before INTEGER REFERENCES games (id), place TEXT, FOREIGN KEY (home, guest) REFERENCES pairs (a, b));
CREATE TABLE pairs (a INTEGER, b INTEGER, note TEXT, PRIMARY KEY (a, b));
CREATE TABLE goals (id INTEGER PRIMARY KEY, game INTEGER REFERENCES gone (id), minute INTEGER, by TEXT,
    "games.rain" TEXT, played INTEGER REFERENCES games (id));
INSERT INTO cities VALUES ('Linz', 'Ada', 'Upper Austria', 'wet');
INSERT INTO teams VALUES (1, 'LNZ', 'Linz Owls', 'Linz'), (2, 'GRZ', 'Graz Foxes', NULL);
INSERT INTO games VALUES (7, 1, 2, 'drizzle', NULL, 'north'), (8, 2, 1, 'dry', 7, 'south'), (9, 2, 1, NULL, 8, 'south');
INSERT INTO goals VALUES (1, 3, 12, 'Eva', 'own', 8);
"""
LED = {
    "goals eva": {},  # to no table, and to columns that would take the name of one of its own
    "teams graz": {},  # to no row
    "teams linz": {"cities.mayor": "Ada", "cities.land": "Upper Austria"},
    "games drizzle": {"home.code": "LNZ", "guest.code": "GRZ"},
    "games dry": {"home.code": "GRZ", "guest.code": "LNZ", "before.rain": "drizzle", "before.place": "north"},
}


@pytest.mark.covers("R3")
@pytest.mark.parametrize(("question", "led"), LED.items())
async def test_a_partner_is_told_by_what_is_its_own_or_what_its_table_has_first(question, led, tmp_path):
    async with plant_source(fill(tmp_path / "league.db", LEAGUE), index=":memory:") as source:
        first = (await ask(source, question))[0]
    lent = {name: value for name, value in first.metadata.items() if "." in name and name != "games.rain"}
    assert {name: value for name, value in lent.items() if value is not None} == led


@pytest.mark.covers("R3", "R15")
async def test_rows_are_counted_by_what_tells_their_partner(tmp_path):
    async with plant_source(fill(tmp_path / "league.db", LEAGUE), index=":memory:") as source:
        (counted,) = await ask(source, "How many teams have the mayor Ada?")
        assert counted.content.endswith("teams where cities.mayor = Ada: 1")
        # What a row says itself is meant, not what its partner does.
        (counted,) = await ask(source, "How many games are dry?")
        assert counted.content.endswith("games where rain = dry: 1")


@pytest.mark.covers("R15")
async def test_a_column_that_cannot_be_read_is_known_by_name_where_a_computation_is_proposed(tmp_path):
    script = "CREATE TABLE gates (id INTEGER PRIMARY KEY, state TEXT, open BOOLEAN);"
    script += "INSERT INTO gates VALUES (1, 'open', 'no')"
    async with plant_source(fill(tmp_path / "gates.db", script), index=":memory:") as source:
        [table] = await source.computing().tables(["gates"], {})
    assert (list(table.schema.fields), table.unread) == (["id", "state"], ("open",))
    with pytest.raises(FilterInvalid, match="do not say that 'open' is one of state"):
        check_words(Proposal("gates", "count", {"state": {"not": "open"}}), [table], "How many gates are not open?")
