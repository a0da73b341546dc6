"""Topic indices over the rows of a table (X1, X2, X5, R10; faults 30, 60)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from asking import opened
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage
from plant_database import change, fill
from postgres_fixture import postgres  # noqa: F401 - a fixture
from postgres_server import PostgresServer
from topic_bases import ask

from groundgraph import Context, Settings, load_settings, retrieval_graph
from groundgraph.cli.check_config import check_config
from groundgraph.core.errors import ConfigurationError, SchemaChanged, SourceUnavailable
from groundgraph.core.evidence import SourceResult
from groundgraph.core.failure import collect_degradations
from groundgraph.settings.topics import TopicIndexSettings
from groundgraph.sources.contract import SourceOptions, source_types
from groundgraph.sources.sql import SqlSource, topic_store
from groundgraph.sources.sql.postgres import database as postgres_database
from groundgraph.sources.sql.topic_store import heading_path
from groundgraph.sources.topic_index import TopicIndexSource, index_problems

COLUMNS = {"document": "doc", "order": "position", "headings": "path"}
SCRIPT = "CREATE TABLE parts (id INTEGER PRIMARY KEY, doc TEXT, position INTEGER, path TEXT, body TEXT, tenant TEXT);"
# A document of three levels; the rows are written in another order than they are read in.
GUIDE = [
    ("Guide", "front matter"),
    ("Guide > Install", "apt and msi"),
    ("Guide > Safety", "general remarks"),
    ("Guide > Safety > Fire", "smoke and flame"),
    ("Guide > Safety > Fire > Halls", "sprinkler"),
    ("Guide > Safety > Water", "flood"),
    ("Guide > Safety > Power", "shock"),
    ("Guide > Credits", "thanks"),
]
SAFETY = ["Safety", "Fire", "Halls", "Water", "Power"]


def rows(name: str = "guide", tenant: str = "a", first: int = 1) -> list[tuple[object, ...]]:
    made = [
        (first + number, name, number, path, f"{text} {tenant}", tenant) for number, (path, text) in enumerate(GUIDE)
    ]
    return made[::-1]


def as_json(given: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return [(*row[:3], json.dumps(str(row[3]).split(" > ")), *row[4:]) for row in given]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return fill(tmp_path / "parts.db", SCRIPT, parts=rows())


@pytest.fixture
def two_tenants(tmp_path: Path) -> Path:
    other = [(*row[:3], f"{row[3]}", row[4], row[5]) for row in rows("other", "b", 100)]
    secret = (200, "other", 50, "Guide > Secret plan", "hidden b", "b")
    # Within the subtree that tenant `a` asks for, and in its document.
    inside = (201, "guide", 4, "Guide > Safety > Fire", "hidden fire b", "b")
    return fill(tmp_path / "parts.db", SCRIPT, parts=[*rows(), *other, secret, inside])


def source(url: object, **options: object) -> SqlSource:
    given = {"name": "docs", "table": "parts", "content_field": "body", "topic_columns": COLUMNS, "index": ":memory:"}
    return opened(SqlSource(url, **{**given, **options}))  # type: ignore[arg-type]


def indexed(inner: SqlSource, kind: str = "heading_tree", **options: object) -> TopicIndexSource:
    return TopicIndexSource(inner, TopicIndexSettings(type=kind, **options))  # type: ignore[arg-type]


def last(results: list[SourceResult]) -> list[str]:
    return [result.metadata["headings"][-1] for result in results]


@pytest.mark.covers("X1")
@pytest.mark.parametrize("written", [list, as_json], ids=["joined", "json"])
async def test_a_heading_gives_its_whole_subtree_in_order_whatever_the_seeds_are(tmp_path, written):
    path = fill(tmp_path / "parts.db", SCRIPT, parts=written(rows()))
    for most in (1, 10):
        index = indexed(source(path), entry_strategy="heading_match", seed_max_results=most)
        found = await ask(index, "What about safety?")
        assert last(found) == SAFETY
        assert [result.metadata["position"] for result in found] == [2, 3, 4, 5, 6]
        assert {result.metadata["found_under"] for result in found} == {"Guide > Safety"}
        assert found[2].metadata["headings"] == ["Guide", "Safety", "Fire", "Halls"]
        assert found[2].metadata["section"] == "Guide > Safety > Fire > Halls"
        assert (found[2].metadata["document"], found[2].source_id) == ("guide", "parts/5")
        assert found[2].content == "sprinkler a"


@pytest.mark.covers("X1")
async def test_the_rows_that_the_source_finds_lead_to_their_heading(table):
    index = indexed(source(table))
    assert last(await ask(index, "sprinkler")) == ["Halls"], "no heading has the word"
    assert last(await ask(indexed(source(table), entry_strategy="heading_match"), "sprinkler")) == []
    # What the source would answer by counting is no passage; the rows are found all the same.
    assert "Halls" in last(await ask(index, "How many sprinkler parts are there?"))


@pytest.mark.covers("X2")
async def test_a_row_that_was_written_or_deleted_is_seen_at_once(table):
    index = indexed(source(table), entry_strategy="heading_match")
    assert last(await ask(index, "safety")) == SAFETY
    change(table, "INSERT INTO parts VALUES (50, 'guide', 5.5, 'Guide > Safety > Noise', 'loud', 'a')")
    assert last(await ask(index, "safety")) == [*SAFETY[:4], "Noise", "Power"]
    change(table, "DELETE FROM parts WHERE path LIKE '%Fire%'")
    assert last(await ask(index, "safety")) == ["Safety", "Water", "Noise", "Power"]


@pytest.mark.covers("X2")
async def test_a_table_without_a_key_and_a_view_work_as_well(tmp_path):
    script = SCRIPT.replace(" PRIMARY KEY", "") + "CREATE VIEW shown AS SELECT * FROM parts WHERE doc = 'guide';"
    path = fill(tmp_path / "parts.db", script, parts=rows())
    for name in ("parts", "shown"):
        assert last(await ask(indexed(source(path, table=name)), "safety")) == SAFETY


def configured(path: Path, **sections: object) -> Settings:
    entry = {"name": "docs", "type": "sql", "path": str(path), "table": "parts", "content_field": "body"}
    indexed_entry = {**entry, "topic_columns": COLUMNS, "topic_index": {"type": "heading_tree"}}
    return load_settings({"sources": [indexed_entry], **sections})


@pytest.mark.covers("fault 60")
async def test_the_default_and_the_scope_filter_of_a_configuration_hold(two_tenants):
    settings = configured(
        two_tenants,
        intent={"default_filters": {"docs": {"position": {"lte": 5}}}},
        retrieval={"scope_filters": {"docs": {"tenant": "context.tenant"}}, "merge_adjacent": False},
    )
    graph = retrieval_graph(settings)
    for question, expected in (("What about safety?", SAFETY[:-1]), ("secret plan hidden", [])):
        said = {"messages": [HumanMessage(question)]}
        output = await graph.ainvoke(said, context=Context(scope={"tenant": "a"}))
        found = [row["metadata"] for row in output["evidence"]]
        assert [metadata["headings"][-1] for metadata in found] == expected
        assert {metadata["tenant"] for metadata in found} <= {"a"}
    await graph.resources.close()


@pytest.mark.covers("fault 30")
@pytest.mark.parametrize("missing", ["document", "order", "headings"])
async def test_a_topic_column_that_is_not_there_is_named(table, missing):
    index = indexed(source(table, topic_columns={**COLUMNS, missing: "bodi"}))
    with pytest.raises(SchemaChanged, match=r"the field 'bodi'.*Did you mean 'body'") as raised:
        await ask(index, "safety")
    assert raised.value.field == "bodi"


@pytest.mark.covers("fault 30")
async def test_a_topic_column_that_goes_away_is_told(table):
    index = indexed(source(table))
    assert await ask(index, "safety")
    change(table, "ALTER TABLE parts RENAME COLUMN path TO route")
    with pytest.raises(SchemaChanged, match="the field 'path'"):
        await ask(index, "safety")


@pytest.mark.covers("X1")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"topic_columns": {"document": "doc", "order": "position"}}, "s.topic_columns.headings: must be the name"),
        ({"topic_columns": {**COLUMNS, "levels": "x"}}, "s.topic_columns.levels: is not known"),
        ({"topic_columns": ["doc"]}, "s.topic_columns: maps document, order, headings"),
        ({"topic_columns": {**COLUMNS, "order": 3}}, "s.topic_columns.order: must be the name of a column"),
        ({"table": None, "topic_columns": COLUMNS}, "s.topic_columns: are the columns of one `table`"),
        ({"text_index": "database", "topic_columns": COLUMNS}, "s.topic_columns: work with `text_index: own`"),
        (
            {"vector_field": "v", "topic_columns": COLUMNS},
            "s.topic_columns: cannot be had together with `vector_field`",
        ),
    ],
)
def test_topic_columns_that_cannot_work_are_refused_at_build(tmp_path, options, told):
    given = {"url": "postgresql://somebody@localhost/nowhere", "table": "parts", **options}
    with pytest.raises(ConfigurationError, match=told.replace("|", r"\|").replace(".", r"\.")):
        source_types.get("sql")(SourceOptions("docs", given, tmp_path, "s"))


@pytest.mark.covers("X1")
def test_an_index_without_columns_or_with_vectors_is_refused_at_build(table):
    with pytest.raises(ConfigurationError, match=r"topic_index: the source does not say which columns .*topic_columns"):
        indexed(source(table, topic_columns=None))
    with pytest.raises(ConfigurationError, match="type: 'cluster' works with vectors, which a topic index does not"):
        indexed(source(table), "cluster")
    settings = TopicIndexSettings(type="heading_tree", entry_strategy="vector")
    [problem] = index_problems(source(table), settings, "k", embeds=True, chooses=False)
    assert problem.key == "k.entry_strategy"


@pytest.mark.covers("X1")
def test_a_refused_index_is_told_with_its_place_in_the_file(tmp_path):
    text = "sources:\n- name: docs\n  type: sql\n  path: d.db\n  table: parts\n  topic_index:\n    type: heading_tree\n"
    (tmp_path / "rag.yaml").write_text(text)
    [problem] = check_config(tmp_path / "rag.yaml").problems
    assert (problem.file.endswith("rag.yaml"), problem.line, problem.key) == (True, 6, "sources[0].topic_index")
    assert problem.column
    assert "does not say which columns" in problem.message
    (tmp_path / "rag.yaml").write_text(f"{text}  topic_columns:\n    document: d\n    heading: h\n    order: o\n")
    keys = {one.key: one.line for one in check_config(tmp_path / "rag.yaml").problems}
    assert keys.items() >= {("sources[0].topic_columns.heading", 10)}


@pytest.mark.covers("X5")
async def test_vectors_that_an_intent_asks_for_give_way_to_words_and_it_is_told(table):
    with collect_degradations() as told:
        found = await ask(indexed(source(table)), "sprinkler", raw_data={"topic_index": {"entry_strategy": "vector"}})
    assert last(found) == ["Halls"]
    reason = "entry_strategy 'vector' needs an embedding model; words were searched for"
    assert told == [{"part": "topic_options", "reason": reason}]


@pytest.mark.covers("X1")
async def test_too_many_rows_are_refused_and_not_read_again(table, monkeypatch):
    monkeypatch.setattr(topic_store, "MOST_ROWS", 7)
    index = indexed(source(table))
    with pytest.raises(SourceUnavailable, match="'parts' has more than 7 rows"):
        await ask(index, "safety")
    monkeypatch.setattr(topic_store, "heading_path", None)
    with pytest.raises(SourceUnavailable, match="'parts' has more than 7 rows"):
        await ask(index, "safety")
    monkeypatch.undo()
    change(table, "DELETE FROM parts WHERE position = 7")
    assert last(await ask(index, "safety")) == SAFETY


@pytest.mark.covers("X1")
async def test_too_long_headings_are_refused(table, monkeypatch):
    monkeypatch.setattr(topic_store, "MOST_CHARS", 20)
    with pytest.raises(SourceUnavailable, match="headings of more than 20 characters"):
        await ask(indexed(source(table)), "safety")


@pytest.mark.covers("R3")
async def test_records_in_memory_have_headings_too(tmp_path):
    records = [
        {"id": str(row[0]), "doc": row[1], "position": row[2], "path": str(row[3]).split(" > "), "body": row[4]}
        for row in rows()
    ]
    made = source_types.get("sql")(
        SourceOptions(
            "docs", {"records": records, "content_field": "body", "topic_columns": COLUMNS}, tmp_path, "sources[0]"
        )
    )
    index = indexed(made)
    assert last(await ask(index, "safety")) == SAFETY
    assert {"document", "headings", "found_under", "path"} <= await index.metadata_fields()


@pytest.mark.covers("X2")
async def test_rows_without_a_place_or_a_heading_come_last_and_alone(table):
    change(table, "INSERT INTO parts VALUES (60, 'guide', NULL, NULL, 'orphan', 'a')")
    store = source(table).topic_store()
    outline = await store.outline()
    assert (outline.places[-1].id, outline.places[-1].headings) == ("parts/60", ())
    assert [place.id for place in outline.places] == [f"parts/{n}" for n in (*range(1, 9), 60)]


@pytest.mark.covers("X1")
@given(st.lists(st.text(min_size=1).filter(lambda one: one.strip()), max_size=5))
def test_a_json_list_of_headings_is_read_as_it_was_written(titles):
    assert heading_path(json.dumps(titles)) == tuple(one.strip() for one in titles)


@pytest.mark.covers("fault 30")
@given(st.one_of(st.none(), st.text(), st.integers(), st.lists(st.one_of(st.none(), st.integers(), st.text()))))
def test_whatever_a_heading_column_holds_it_is_titles(value):
    assert all(isinstance(title, str) and title == title.strip() != "" for title in heading_path(value))


@pytest.mark.covers("X1")
@pytest.mark.parametrize(
    ("value", "path"), [("[Draft] A > B", ("[Draft] A", "B")), ("A >  > B", ("A", "B")), ("[" * 9000, ("[" * 9000,))]
)
def test_headings_in_a_text(value, path):
    assert heading_path(value) == path


@pytest.fixture(params=["text", "jsonb", "text[]"])
def on_server(
    request: pytest.FixtureRequest,
    postgres: PostgresServer,  # noqa: F811,
) -> tuple[PostgresServer, str]:
    url = postgres.database(
        "topics",
        "CREATE TABLE parts (id INTEGER PRIMARY KEY, doc TEXT, position NUMERIC, path TEXT, body TEXT, tenant TEXT);"
        "CREATE INDEX ON parts USING gin (to_tsvector('english', body));",
    )
    postgres.fill("topics", parts=[*as_json(rows()), *as_json(rows("other", "b", 100))])
    if request.param != "text":
        cast = "path::jsonb"
        if request.param == "text[]":
            cast = "translate(path, '[]', '{}')::text[]"
        postgres.execute(f"ALTER TABLE parts ALTER path TYPE {request.param} USING {cast}", "topics")
    return postgres, url


@pytest.mark.covers("fault 35")
@pytest.mark.live
async def test_a_column_that_was_renamed_before_the_next_look_is_named(on_server, monkeypatch):
    server, url = on_server
    # After a look that took longer than this, the next one is put off for so many times as long.
    monkeypatch.setattr(postgres_database, "_QUICK", 0.0)
    monkeypatch.setattr(postgres_database, "_SHARE", 1e6)
    inner = source(url)
    index = indexed(inner)
    try:
        assert await ask(index, "safety")
        server.execute("ALTER TABLE parts RENAME doc TO book", "topics")
        with pytest.raises(SchemaChanged, match="the field 'doc'"):
            await ask(index, "safety")
    finally:
        await index.close()


@pytest.mark.covers("X1")
@pytest.mark.live
async def test_postgresql_gives_the_subtree_and_holds_the_filter(on_server):
    server, url = on_server
    inner = source(url)
    index = indexed(inner, seed_max_results=1)
    filters = {"docs": {"tenant": "a"}}
    found = await ask(index, "What about safety?", filters=filters)
    assert last(found) == SAFETY
    assert {result.metadata["tenant"] for result in found} == {"a"}
    assert len(await ask(indexed(inner), "safety")) == 10
    assert last(await ask(index, "sprinkler", filters=filters)) == ["Halls"]
    server.execute("DELETE FROM parts WHERE body LIKE 'flood%'", "topics")
    assert last(await ask(index, "safety", filters=filters)) == ["Safety", "Fire", "Halls", "Power"]
    server.execute("ALTER TABLE parts RENAME doc TO book", "topics")
    with pytest.raises(SchemaChanged, match="the field 'doc'"):
        await ask(index, "safety")
