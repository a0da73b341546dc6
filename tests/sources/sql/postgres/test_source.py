"""The SQL source over a real PostgreSQL (R3, R10, R12 to R15; faults 30 to 37, 58 to 60)."""

from __future__ import annotations

import asyncio
import time

import pytest
from asking import ask, ids, opened

from groundgraph import turn_graph
from groundgraph.core.computation import Proposal
from groundgraph.core.errors import ConfigurationError, FilterInvalid, SchemaChanged, SourceTimeout, SourceUnavailable
from groundgraph.sources.conformance import check_source
from groundgraph.sources.sql import SqlSource
from groundgraph.sources.sql.postgres.options import PostgresOptions

pytestmark = pytest.mark.live


def source(url, **options):
    return opened(SqlSource(url, **{"name": "plant", "index": ":memory:", **options}))


@pytest.mark.covers("R3")
async def test_rows_are_found_by_stems_and_ordered_by_relevance(plant):
    asked = source(plant, table="incidents", content_field="body")
    found = await ask(asked, "Which pumps are leaking?")
    assert ids(found) == ["incidents/1", "incidents/5"]
    assert [result.relevance for result in found] == [1.0, 0.5]
    assert found[0].metadata["severity"] == "critical"
    assert found[0].metadata["day"] == "2026-03-02"


@pytest.mark.covers("R15")
@pytest.mark.parametrize(
    ("function", "field", "value"),
    [("sum", "duration", 13.0), ("average", "duration", 3.25), ("max", "duration", 8.0), ("min", "day", "2026-03-02")],
)
async def test_the_five_functions_run_on_the_server(plant, function, field, value):
    asked = source(plant, tables=["incidents", "pumps"])
    found = await asked.computing().run(Proposal("incidents", function, field=field), {})
    assert found.metadata["value"] == value


@pytest.mark.covers("R15")
@pytest.mark.parametrize("kind", ["numeric", "double precision", "real"])
async def test_what_is_no_number_is_left_out_of_what_is_computed_and_told(postgres, kind):
    url = postgres.database("nan", f"CREATE TABLE loads (part int PRIMARY KEY, hall text, tons {kind}, spare {kind})")
    postgres.fill("nan", loads=[(1, "north", 1.5, 1), (2, "north", "NaN", 1), (3, "south", 2.5, 1)])
    asked = source(url).computing()
    for function, value in (("max", 2.5), ("sum", 4), ("average", 2)):
        found = await asked.run(Proposal("loads", function, field="tons"), {})
        assert (found.metadata["value"], found.metadata["rows"]) == (value, 2)
        assert "1 row was left out for a value that is no number" in found.content
    by_hall = await asked.run(Proposal("loads", "max", field="tons", group_by=["hall"], order="largest"), {})
    assert by_hall.metadata["groups"] == [["south", 2.5], ["north", 1.5]]


@pytest.mark.covers("fault 31")
async def test_a_view_that_is_too_slow_stops_no_build_and_is_told_by_the_turn(postgres):
    view = "CREATE VIEW slow AS SELECT id, body, pg_sleep(3)::text AS waited FROM notes"
    notes = "CREATE TABLE notes (id int PRIMARY KEY, body text)"
    url = postgres.database("slow", f"{notes}; INSERT INTO notes VALUES (1, 'pump'); {view}")
    own = source(url, tables=["slow"], postgres=PostgresOptions(statement_timeout=0.5))
    turn = await turn_graph(sources=[own]).ainvoke({"question": "Which pump?"})
    assert turn["outcome"] == "unavailable"


@pytest.mark.covers("R15")
async def test_a_sum_beyond_all_numbers_is_refused_and_no_outage(postgres):
    url = postgres.database("beyond", "CREATE TABLE loads (part int PRIMARY KEY, hall text, tons float8)")
    postgres.fill("beyond", loads=[(1, "north", 1e308), (2, "north", 1e308)])
    asked = source(url).computing()
    for group_by in ((), ("hall",)):
        with pytest.raises(FilterInvalid, match="out of range"):
            await asked.run(Proposal("loads", "sum", field="tons", group_by=group_by), {})


@pytest.mark.covers("R2")
async def test_escapes_that_json_keeps_and_jsonb_refuses_stop_no_filter(postgres):
    url = postgres.database("escapes", "CREATE TABLE notes (id int PRIMARY KEY, body text, tags json)")
    escaped = [r'["a"]', r'["a", "x\u0000\u0000"]', r'["a", "\ud800"]', r'["\ude00"]', r'["\ud83d\ude00", "\\u0000"]']
    postgres.fill("escapes", notes=[(number, "pump", tags) for number, tags in enumerate(escaped)])
    asked = source(url)
    for value, found in (
        ("a", [0, 1, 2]),
        ("x\ufffd\ufffd", [1]),
        ("\ufffd", [2, 3]),
        ("\U0001f600", [4]),
        (r"\u0000", [4]),
    ):
        for condition in (value, {"contains": value}):
            assert sorted(ids(await ask(asked, "pump", tags=condition))) == [f"notes/{number}" for number in found]


@pytest.mark.covers("R2")
async def test_a_number_beyond_all_floats_is_compared_with_others(postgres):
    url = postgres.database("nan", "CREATE TABLE loads (part int PRIMARY KEY, hall text, tons numeric)")
    postgres.fill("nan", loads=[(1, "north hall", 1.5), (2, "south hall", "1e400")])
    assert ids(await ask(source(url), "hall", tons={"gt": 2})) == ["loads/2"]


REAL = """
CREATE SCHEMA "Vertrieb";
CREATE TYPE state AS ENUM ('open', 'closed');
CREATE TABLE "Vertrieb"."Aufträge" (
    "Nr" integer, "Zeile" integer, "Größe %" numeric(10, 2), "text" text, tags text[], data jsonb, state state,
    seen timestamptz, token uuid DEFAULT '0f0e0d0c-0000-4000-8000-000000000001', photo bytea, range int4range,
    PRIMARY KEY ("Nr", "Zeile"));
INSERT INTO "Vertrieb"."Aufträge" VALUES
    (1, 1, 12.50, 'Прокладка насоса, ёмкость', '{red,blue}', '{"a": 1}', 'open', '2026-03-01 10:00+02', DEFAULT,
     '\\x0001', '[1,5)'),
    (1, 2, 'NaN', 'Ventil für die Kühlung', '{}', '[1, "x"]', 'closed', NULL, DEFAULT, NULL, NULL),
    (2, 1, NULL, NULL, NULL, NULL, NULL, NULL, DEFAULT, NULL, NULL);
CREATE VIEW offen AS SELECT "Nr" AS nr, "text" AS satz FROM "Vertrieb"."Aufträge" WHERE state = 'open';
CREATE MATERIALIZED VIEW alle AS SELECT "text" AS satz FROM "Vertrieb"."Aufträge";
CREATE TABLE "Vertrieb".secret (word text);
"""


@pytest.fixture
def real(postgres):
    return postgres.database("real", REAL)


@pytest.mark.covers("R3")
async def test_real_schemas_quoted_and_non_ascii_names_and_every_type(real):
    asked = source(real, table="Vertrieb.Aufträge")
    (found,) = await ask(asked, "прокладки насосов")
    assert found.source_id == "Vertrieb.Aufträge/1,1"
    values = found.metadata
    assert values["Größe %"] == 12.5
    assert values["tags"] == ["red", "blue"]
    assert values["data"] == {"a": 1}
    assert values["seen"] == "2026-03-01T08:00:00+00:00"
    assert values["photo"] == "<2 bytes>"
    assert values["range"] == "[1,5)"
    schema = asked.get_schema()
    assert schema.fields["state"] == {"type": "string", "enum": ["open", "closed"]}
    assert ids(await ask(asked, "насос Ventil", tags="blue")) == ["Vertrieb.Aufträge/1,1"]
    assert ids(await ask(asked, "насос Ventil", data="x")) == ["Vertrieb.Aufträge/1,2"]
    assert ids(await ask(asked, "насос Ventil", **{"Größe %": {"lt": 20}})) == ["Vertrieb.Aufträge/1,1"]
    assert ids(await ask(asked, "насос Ventil", state="closed")) == ["Vertrieb.Aufträge/1,2"]
    with pytest.raises(FilterInvalid, match="not an allowed value"):
        await ask(asked, "насос", state="lost")
    (await check_source(asked, query="насос Ventil")).raise_for_failures()


@pytest.mark.covers("R3")
@pytest.mark.parametrize("table", ["offen", "alle"])
async def test_views_and_materialized_views_are_tables_too(real, table):
    asked = source(real, table=table)
    (found,) = await ask(asked, "ёмкость")
    assert found.metadata["satz"].startswith("Прокладка")
    assert found.source_id.startswith(f"{table}/")
    assert ids(await ask(asked, "емкость")) == [found.source_id]


async def test_tables_are_those_of_the_search_path_and_named_ones(real):
    asked = source(real)
    assert {"satz", "nr"} <= set(asked.get_schema().fields)
    assert "word" not in asked.get_schema().fields
    with pytest.raises(ConfigurationError, match=r"no table 'Auftraege'.*Vertrieb\.Aufträge"):
        await ask(source(real, table="Auftraege"), "x")


async def test_the_connection_cannot_write_even_as_a_superuser(plant):
    from sqlalchemy import text

    asked = source(plant, table="incidents")
    await ask(asked, "pump")
    with (
        pytest.raises(SourceUnavailable, match="read-only transaction"),
        asked._engine._database.reading() as connection,
    ):
        connection.execute(text("DELETE FROM incidents"))


async def test_advice_tells_of_wide_rights_and_of_missing_indexes(postgres, tmp_path):
    url = postgres.database(
        "roles", "CREATE TABLE t (id int PRIMARY KEY, body text); INSERT INTO t VALUES (1, 'насос')"
    )
    postgres.execute("DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN; GRANT SELECT ON t TO reader", "roles")
    owner, reader = source(url, table="t"), source(url.replace("groundgraph@", "reader@"), table="t")
    assert any("superuser" in told for told in await owner.advice())
    (told,) = await reader.advice()
    assert "CREATE INDEX" in told
    assert "'russian'" in told
    statement = told[told.index("CREATE INDEX") :]
    postgres.execute(statement, "roles")
    postgres.execute("ANALYZE", "roles")
    again = source(url.replace("groundgraph@", "reader@"), table="t", postgres=PostgresOptions(text_index="database"))
    assert ids(await ask(again, "насосы")) == ["t/1"]
    assert await again.advice() == []
    postgres.execute("REVOKE SELECT ON t FROM reader; GRANT SELECT (id) ON t TO reader", "roles")
    limited = source(url.replace("groundgraph@", "reader@"), table="t")
    assert "body" not in limited.get_schema().fields


async def test_text_index_database_refuses_a_table_without_one(postgres):
    url = postgres.database("bare", "CREATE TABLE t (id int PRIMARY KEY, body text)")
    with pytest.raises(ConfigurationError, match=r"CREATE INDEX ON \"public\".\"t\" USING gin"):
        await ask(source(url, table="t", postgres=PostgresOptions(text_index="database")), "x")


PARTLY_INDEXED = """
CREATE TABLE manuals (id int PRIMARY KEY, title text, body text, kind text);
INSERT INTO manuals VALUES (1, 'Pumps', 'The seal is changed every 90 days.', 'guide');
"""
BY_TITLE, BY_BODY = (
    f"CREATE INDEX ON manuals USING gin (to_tsvector('english', {name}));" for name in ("title", "body")
)


@pytest.mark.covers("R3")
@pytest.mark.parametrize("indexes", [BY_TITLE, BY_TITLE + BY_BODY])
async def test_the_text_of_a_row_is_found_whatever_an_index_of_its_title_holds(postgres, indexes):
    url = postgres.database("partly", PARTLY_INDEXED + indexes)
    assert ids(await ask(source(url), "seal")) == ["manuals/1"]
    named = source(url, text_search_fields=["title", "kind"])
    assert ids(await ask(named, "guide")) == ["manuals/1"]
    strict = source(url, postgres=PostgresOptions(text_index="database"))
    assert ids(await ask(strict, "pumps")) == ([] if indexes.endswith(BY_BODY) else ["manuals/1"])


async def test_doctor_names_the_columns_that_an_index_does_not_hold(postgres):
    url = postgres.database("partly", PARTLY_INDEXED + BY_BODY)
    asked = source(url)
    assert await ask(asked, "guide") == []
    (told,) = [one for one in await asked.advice() if "does not hold 'title', 'kind'" in one]
    postgres.execute(told[told.index("CREATE INDEX") :], "partly")
    again = source(url)
    assert ids(await ask(again, "guide")) == ["manuals/1"]
    assert not any("does not hold" in one for one in await again.advice())


async def test_an_index_that_a_trigger_fills_is_searched_though_it_does_not_tell_what_it_holds(postgres):
    url = postgres.database("partly", PARTLY_INDEXED + """
    ALTER TABLE manuals ADD words tsvector;
    UPDATE manuals SET words = to_tsvector('english', body);
    CREATE INDEX ON manuals USING gin (words);
    """)  # fmt: skip
    asked = source(url, postgres=PostgresOptions(text_config="english"))
    assert ids(await ask(asked, "seals")) == ["manuals/1"]
    assert not any("index" in one for one in await asked.advice())


async def test_a_statement_over_its_limit_is_a_typed_error_and_the_source_goes_on(plant):
    from sqlalchemy import text

    asked = source(plant, table="incidents", postgres=PostgresOptions(statement_timeout=2))
    await ask(asked, "pump")
    with pytest.raises(SourceTimeout, match="ended a statement"), asked._engine._database.reading() as connection:
        connection.execute(text("SELECT pg_sleep(60)"))
    assert await ask(asked, "pump")


@pytest.mark.covers("fault 31")
async def test_what_nobody_waits_for_is_ended_on_the_server(plant, postgres):
    postgres.execute(
        "CREATE FUNCTION slow(text) RETURNS text LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM pg_sleep(100); RETURN $1; END $$; "
        "CREATE VIEW sleepy AS SELECT id, slow(body) AS body FROM incidents", "plant"
    )  # fmt: skip
    asked = source(plant, table="sleepy", postgres=PostgresOptions(statement_timeout=200))
    query = asyncio.create_task(ask(asked, "pump"))

    def sleeping():
        return postgres.execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")[0][0]

    while not sleeping():
        assert not query.done()
        await asyncio.sleep(0.05)
    assert sleeping() == 1
    query.cancel()
    with pytest.raises(asyncio.CancelledError):
        await query
    started = time.monotonic()
    while sleeping() and time.monotonic() - started < 50:
        await asyncio.sleep(0.05)
    assert sleeping() == 0


@pytest.mark.covers("fault 32")
async def test_no_server_is_a_typed_error_that_shows_no_password():
    asked = source("postgresql://reader:s3cret@127.0.0.1:9/nowhere", table="t")
    with pytest.raises(SourceUnavailable, match=r"127\.0\.0\.1:9/nowhere") as raised:
        await ask(asked, "pump")
    assert "s3cret" not in str(raised.value)
    assert "s3cret" not in repr(asked._options.location)


@pytest.mark.covers("fault 32")
async def test_a_server_that_refuses_to_be_asked_is_told_with_what_to_do(postgres):
    unknown = source(postgres.url("postgres", user="nobody_here"), table="t")
    with pytest.raises(ConfigurationError, match=r"not exist\)\. Check the user and the password"):
        await ask(unknown, "pump")
    with pytest.raises(ConfigurationError, match=r"not exist\)\. Check the name of the database"):
        await ask(source(postgres.url("no_such_database"), table="t"), "pump")


@pytest.mark.covers("fault 32")
async def test_a_refused_login_is_told_as_what_is_to_be_mended_and_a_full_server_as_one_to_wait_for(postgres):
    postgres.database("locked", "CREATE TABLE t (id int PRIMARY KEY, body text)")
    postgres.execute("DROP ROLE IF EXISTS locked_out")
    for role, error, todo in (
        ("NOLOGIN", ConfigurationError, "Check the user and the password"),
        ("LOGIN CONNECTION LIMIT 0", SourceUnavailable, "The server has no connection left"),
    ):
        postgres.execute(f"CREATE ROLE locked_out {role}")
        asked = source(postgres.url("locked", user="locked_out"), table="t")
        assert todo in asked.get_schema().unread
        with pytest.raises(error, match=todo):
            await ask(asked, "pump")
        await asked.close()
        postgres.execute("DROP ROLE locked_out")
    postgres.execute("CREATE ROLE locked_out LOGIN; REVOKE CONNECT ON DATABASE locked FROM public")
    with pytest.raises(ConfigurationError, match="GRANT CONNECT ON DATABASE"):
        await ask(source(postgres.url("locked", user="locked_out"), table="t"), "pump")
    postgres.execute("DROP ROLE locked_out")


@pytest.mark.covers("fault 34", "fault 35")
@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("change", ["DROP TABLE notes", "REVOKE SELECT ON notes FROM vanishing"])
async def test_a_table_that_vanishes_while_the_source_runs_is_a_changed_schema_told_once(postgres, change, native):
    url = _of_guest(postgres, "vanishing", TEXT_INDEX if native else "")
    asked = source(url, table="notes")
    assert ids(await ask(asked, "pump")) == ["notes/1"]
    postgres.execute(change, "vanishing")
    for _ in range(2):
        with pytest.raises(
            SchemaChanged, match=r"no table 'notes' that this role may read\. Tables: people\."
        ) as raised:
            await ask(asked, "pump")
        assert raised.value.field == "notes"
    anew = source(url, table="notes")
    with pytest.raises(ConfigurationError, match=r"no table 'notes' that this role may read\. Tables: people\."):
        await ask(anew, "pump")
    await asked.close()
    await anew.close()


@pytest.mark.covers("fault 35", "fault 38")
async def test_a_right_that_is_taken_away_makes_the_tables_be_looked_at_again(postgres):
    url = _of_guest(postgres, "fewer_rights", TEXT_INDEX)
    asked = source(url, table="notes")
    assert ids(await ask(asked, "pump")) == ["notes/1"]
    columns = "REVOKE SELECT ON notes FROM fewer_rights; GRANT SELECT (id, body, words) ON notes TO fewer_rights"
    postgres.execute(columns, "fewer_rights")
    (found,) = await ask(asked, "pump")
    assert "tenant" not in found.metadata
    await asked.close()


def _of_guest(postgres, name, index):
    """A database of notes that a role of the same name may read, beside another table."""
    postgres.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
    postgres.execute(f"DROP ROLE IF EXISTS {name}; CREATE ROLE {name} LOGIN")
    script = f"{NOTES}{index}CREATE TABLE people (id int PRIMARY KEY, body text);"
    postgres.database(name, f"{script} GRANT SELECT ON notes, people TO {name}")
    postgres.execute("INSERT INTO notes VALUES (1, 'x', 'the pump leaks')", name)
    return postgres.url(name, user=name)


TEXT_INDEX = (
    "ALTER TABLE notes ADD words tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED; "
    "CREATE INDEX notes_text ON notes USING gin (words);"
)
NOTES = "CREATE TABLE notes (id int PRIMARY KEY, tenant text, body text);"


@pytest.mark.covers("fault 33")
async def test_the_first_rows_of_a_table_are_found_at_once_and_in_order(postgres):
    url = postgres.database("filled_later", NOTES + TEXT_INDEX)
    asked = source(url, table="notes", content_field="body")
    assert await ask(asked, "pump leak seal") == []
    assert await ask(asked, "pump leak seal", tenant="x") == []
    body = "CASE WHEN n = 7 THEN 'pump leak seal' ELSE 'pump number ' || n END"
    postgres.execute(f"INSERT INTO notes SELECT n, 'x', {body} FROM generate_series(1, 200) AS n", "filled_later")
    for filters in ({}, {"tenant": "x"}):
        found = await ask(asked, "pump leak seal", **filters, top_k=3)
        assert ids(found)[0] == "notes/7", filters
        assert all(result.score > 0 for result in found)


@pytest.mark.covers("R3")
async def test_a_change_in_a_view_is_seen_whatever_its_columns_are_called(postgres):
    url = postgres.database("views", "CREATE TABLE t (id int, seen int, body text); CREATE VIEW v AS SELECT * FROM t")
    postgres.execute("INSERT INTO t VALUES (1, 1, 'pump leak')", "views")
    asked = source(url, table="v", content_field="body")
    assert len(await ask(asked, "pump")) == 1
    postgres.execute("UPDATE t SET body = 'valve stuck'", "views")
    await until_found(asked, "valve")
    assert await ask(asked, "pump") == []


@pytest.mark.covers("R3")
@pytest.mark.parametrize("table", ["t", "v"])
async def test_rows_that_come_from_elsewhere_are_looked_at_though_nothing_was_written_here(postgres, table):
    if not postgres.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'file_fdw'"):
        pytest.skip("this build of PostgreSQL has no file_fdw")
    file = postgres.folder / "rows.csv"
    file.write_text("1,pump leak\n")
    file.chmod(0o644)
    url = postgres.database(
        "foreign_rows",
        "CREATE EXTENSION file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw; "
        "CREATE FOREIGN TABLE t (id int, body text) SERVER files "
        f"OPTIONS (filename '{file}', format 'csv'); CREATE VIEW v AS SELECT * FROM t",
    )
    asked = source(url, table=table, content_field="body")
    assert len(await ask(asked, "pump")) == 1
    file.write_text("1,valve stuck\n2,valve open\n")
    assert len(await until_found(asked, "valve")) == 2


async def until_found(asked, question):
    """What is found at last; a look at the rows may take a share of the time only."""
    for _ in range(1200):
        found = await ask(asked, question)
        if found:
            return found
        await asyncio.sleep(0.1)
    raise AssertionError(f"'{question}' is not found")


@pytest.mark.covers("fault 35")
@pytest.mark.parametrize("change", ["CREATE TABLE later (id int PRIMARY KEY, body text)", "DROP INDEX notes_text"])
async def test_a_table_without_a_text_index_that_comes_later_is_searched_here(postgres, monkeypatch, change):
    from groundgraph.sources.sql.postgres import database

    monkeypatch.setattr(database, "_CATALOGUE_SECONDS", 0.0)
    url = postgres.database("indexes", NOTES + TEXT_INDEX)
    postgres.execute("INSERT INTO notes VALUES (1, 'x', 'the pump leaks')", "indexes")
    asked = source(url)
    assert ids(await ask(asked, "pump")) == ["notes/1"]
    postgres.execute(change, "indexes")
    answers = await asyncio.gather(*(ask(asked, "pump") for _ in range(5)))
    assert [ids(found) for found in answers] == [["notes/1"]] * 5
    assert await asked.route("pump") == ["notes"]
    strict = source(url, postgres=PostgresOptions(text_index="database"))
    with pytest.raises(ConfigurationError, match="CREATE INDEX"):
        await ask(strict, "pump")


@pytest.mark.covers("fault 35")
async def test_a_key_of_another_type_makes_the_tables_be_looked_at_again(postgres, monkeypatch):
    from groundgraph.sources.sql.postgres import database

    url = postgres.database("retyped", NOTES)
    postgres.execute("INSERT INTO notes VALUES (1, 'x', 'the pump leaks')", "retyped")
    asked = source(url, table="notes")
    # As if a look took long: the next one may only come much later.
    monkeypatch.setattr(database, "_QUICK", -1.0)
    monkeypatch.setattr(database, "_SHARE", 1e9)
    assert ids(await ask(asked, "pump")) == ["notes/1"]
    postgres.execute("ALTER TABLE notes ALTER id TYPE text", "retyped")
    assert ids(await ask(asked, "pump")) == ["notes/1"]


@pytest.mark.covers("R3")
async def test_a_domain_over_a_domain_is_what_is_under_both(postgres):
    script = "CREATE DOMAIN size AS integer; CREATE DOMAIN length AS size CHECK (VALUE > 0); "
    url = postgres.database("domains", script + "CREATE TABLE t (id int PRIMARY KEY, metres length, body text)")
    postgres.execute("INSERT INTO t VALUES (1, 5, 'a pump'), (2, 10, 'a pump')", "domains")
    asked = source(url, table="t")
    assert asked.get_schema().fields["metres"]["type"] == "integer"
    # As texts, 5 would be more than 10.
    assert ids(await ask(asked, "pump", **{"metres": {"gte": 10}})) == ["t/2"]


@pytest.mark.covers("R3")
@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
async def test_a_database_of_another_encoding_is_searched_with_any_question(postgres, encoding, native):
    postgres.execute('DROP DATABASE IF EXISTS "encoded"')
    postgres.execute(f"CREATE DATABASE encoded ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
    postgres.execute(NOTES + (TEXT_INDEX if native else ""), "encoded")
    postgres.execute("INSERT INTO notes VALUES (1, 'x', 'the pump leaks')", "encoded")
    asked = source(postgres.url("encoded"), table="notes", content_field="body")
    for question, relevance in (("pump", 1.0), ("насос pump", 0.5), ("pump 🚰 漢字", 0.5)):
        (found,) = await ask(asked, question)
        assert found.content == "the pump leaks"
        # Without an encoding PostgreSQL's own rules know no letters but those of English, and leave the others out.
        assert found.relevance == (1.0 if native and encoding == "SQL_ASCII" else relevance)
    assert await ask(asked, "насос течёт") == []


@pytest.mark.covers("R3")
async def test_bytes_that_are_no_utf_8_are_told_with_what_to_do(postgres):
    postgres.execute('DROP DATABASE IF EXISTS "bytes"')
    postgres.execute("CREATE DATABASE bytes ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
    postgres.execute(NOTES + "INSERT INTO notes VALUES (1, 'x', E'the pump \\xff')", "bytes")
    asked = source(postgres.url("bytes"), table="notes")
    with pytest.raises(SourceUnavailable, match=r"SQL_ASCII.*convert the database"):
        await ask(asked, "pump")


@pytest.mark.covers("R3")
async def test_an_object_of_json_is_shown_as_json(postgres):
    url = postgres.database("objects", "CREATE TABLE t (id int PRIMARY KEY, part jsonb)")
    postgres.execute("""INSERT INTO t VALUES (1, '{"насос": true, "seal": null}')""", "objects")
    asked = source(url, table="t")
    (found,) = await ask(asked, "насос")
    assert found.content == 'id: 1\npart: {"seal": null, "насос": true}'


@pytest.mark.covers("L5")
async def test_the_rows_of_a_table_that_was_never_analysed_are_counted_in_part_only(postgres, monkeypatch):
    from groundgraph.sources.sql.postgres import native_engine

    monkeypatch.setattr(native_engine, "MOST_UNKNOWN_ROWS", 10)
    url = postgres.database("unknown", NOTES + TEXT_INDEX)
    postgres.execute("INSERT INTO notes SELECT n, 'x', 'pump ' || n FROM generate_series(1, 50) AS n", "unknown")
    asked = source(url, table="notes", content_field="body")
    found = await ask(asked, "pump 7")
    assert ids(found)[0] == "notes/7"
    assert all(result.score > 0 for result in found)
    assert asked._engine._counts.values() == [10]


@pytest.mark.covers("R15", "A7")
async def test_a_proposal_runs_on_the_server_and_a_declared_reference_is_no_number(plant, postgres):
    postgres.execute("CREATE TABLE visits (machine int REFERENCES pumps (id), cost numeric, paid timestamptz)", "plant")
    postgres.execute("INSERT INTO visits VALUES (1, 10.5, '2026-03-02 10:00Z'), (1, 4, NULL), (2, 9, NULL)", "plant")
    asked = opened(
        SqlSource(
            plant, name="plant", index=":memory:", tables=["visits", "pumps"], relations=["visits.machine = pumps.id"]
        )
    )
    [table] = await asked.computing().tables(["visits"], {})
    assert table.numbers == ("cost", "pumps.hours")
    proposal = Proposal("visits", "sum", field="cost", group_by=("pumps.hall",), order="largest", limit=1)
    result = await asked.computing().run(proposal, {})
    assert result.content.endswith(
        "by pumps.hall, the largest first (over 3 rows):\nhall A: 14.5\nthere are more groups"
    )
    latest = await asked.computing().run(Proposal("visits", "max", field="paid"), {"pumps.hall": "hall A"})
    assert "2026-03-02" in latest.content
    with pytest.raises(FilterInvalid, match="holds keys"):
        await asked.computing().run(Proposal("visits", "sum", field="machine"), {})


EXACT = """
CREATE TABLE accounts (id integer PRIMARY KEY, holder text, account numeric(24, 0), balance numeric(24, 2));
INSERT INTO accounts VALUES (1, 'Hofer', 12345678901234567899, 90071992547409.93), (2, 'Gruber', 7, 0.5);
"""


@pytest.mark.covers("R3")
async def test_numbers_that_no_float_holds_are_shown_and_computed_with_all_their_digits(postgres):
    asked = source(postgres.database("exact", EXACT))
    (found,) = await ask(asked, "Hofer", top_k=1)
    assert "account: 12345678901234567899\nbalance: 90071992547409.93" in found.content
    (kept,) = await ask(asked, "Hofer Gruber", balance={"gt": 1})
    assert kept.metadata["holder"] == "Hofer"
    largest = await asked.computing().run(Proposal("accounts", "max", field="balance"), {})
    assert "90071992547409.93" in largest.content


PATHS = """
CREATE SCHEMA sales;
CREATE TABLE public.orders (id integer PRIMARY KEY, note text);
CREATE TABLE sales.orders (id integer PRIMARY KEY, note text);
CREATE TABLE sales.customers (id integer PRIMARY KEY, name text, vip boolean);
INSERT INTO public.orders VALUES (1, 'paper clips');
INSERT INTO sales.orders VALUES (1, 'a lathe'), (2, 'a saw');
INSERT INTO sales.customers VALUES (1, 'Baxter', true), (2, 'Moser', false);
ALTER DATABASE paths SET search_path = sales, public;
"""


@pytest.mark.covers("R3")
async def test_a_name_in_two_schemas_is_the_table_that_the_role_s_search_path_names_first(postgres):
    asked = source(postgres.database("paths", PATHS), tables=["orders"])
    (counted,) = await ask(asked, "How many orders are there?")
    assert counted.metadata["value"] == 2


@pytest.mark.covers("R15")
@pytest.mark.parametrize(
    ("tables", "question", "value"),
    [
        (["sales.customers"], "How many customers are there?", 2),
        (["sales.customers"], "How many customers are vip?", 1),
        (["public.orders", "sales.orders"], "How many sales orders are there?", 2),
    ],
)
async def test_a_table_of_another_schema_is_counted_by_its_name_alone(postgres, tables, question, value):
    asked = source(
        postgres.database("spaces", PATHS.replace("ALTER DATABASE paths", "ALTER DATABASE spaces")), tables=tables
    )
    (counted,) = await ask(asked, question)
    assert counted.metadata["value"] == value


PARTS = """
CREATE TABLE log (id integer, day date NOT NULL, note text) PARTITION BY RANGE (day);
CREATE TABLE log_2024 PARTITION OF log FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE TABLE log_2025 PARTITION OF log FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
INSERT INTO log VALUES (1, '2024-02-01', 'a leak'), (2, '2025-02-01', 'a crack'), (3, '2025-03-01', 'a dent');
"""


@pytest.mark.covers("R3")
async def test_a_partition_is_a_table_where_it_is_named_and_else_a_part_of_the_whole(postgres):
    url = postgres.database("parts", PARTS)
    for tables, question, value in (
        (["log_2024"], "How many log_2024 are there?", 1),
        (["public.log_2024"], "How many log_2024 are there?", 1),
        ([], "How many logs are there?", 3),
    ):
        (counted,) = await ask(source(url, tables=tables), question)
        assert counted.metadata["value"] == value
    with pytest.raises(ConfigurationError, match=r"no table 'log_2023'.*Tables: log"):
        await ask(source(url, tables=["log_2023"]), "x")


TIMES = """
CREATE TABLE contracts (id integer PRIMARY KEY, title text, valid_to timestamptz, founded date);
INSERT INTO contracts VALUES (1, 'Lathe lease', 'infinity', '0753-04-21 BC'),
    (2, 'Saw lease', '2024-05-01', '2001-01-01'), (3, 'Drill lease', '12345-01-01', NULL);
"""


@pytest.mark.covers("R3", "R15", "fault 35")
async def test_times_that_python_does_not_know_are_shown_as_postgresql_writes_them_and_not_counted_by(postgres):
    asked = source(postgres.database("times", TIMES))
    (found,) = await ask(asked, "Lathe", top_k=1)
    assert "valid_to: infinity\nfounded: 0753-04-21 BC" in found.content
    found = await ask(asked, "How many contracts have a valid_to after 2020?")
    assert not any(result.metadata.get("computed") for result in found)


@pytest.mark.covers("R3")
async def test_a_relation_between_columns_that_cannot_be_compared_is_refused_when_it_is_opened(plant, postgres):
    postgres.execute("CREATE TABLE stays (id int PRIMARY KEY, pump text)", "plant")
    told = r"'stays.pump' \(text\) and 'pumps.id' \(\w+\) cannot be compared"
    with pytest.raises(ConfigurationError, match=told):
        await ask(source(plant, tables=["stays"], relations=["stays.pump = pumps.id"]), "stays")
