"""SQL sources in a whole turn, configured from a file (R7, R11, R13, R15)."""

from __future__ import annotations

import pytest
from plant_database import change, fill

from groundgraph import InMemorySource, load_settings, turn_graph
from groundgraph.sources.sql import SqlSource

CONFIG = """
intent: {mode: static}
sources:
  - type: sql
    name: incidents
    url: sqlite:///plant.db
    table: incidents
    content_field: body
    text_search_fields: [title, month]
    schema: {fields: [{name: severity, type: string, enum: [low, critical]}]}
  - type: database
    name: case_db
    backend: memory
    content_field: summary
    text_search_fields: [title, summary]
    records: [{title: Pump manual, summary: A pump is serviced twice a year.}]
"""


@pytest.fixture
async def graph(plant):
    file = plant.parent / "groundgraph.yaml"
    file.write_text(CONFIG, "utf-8")
    graph = turn_graph(load_settings(file))
    yield graph
    await graph.resources.close()


async def turn(graph, question):
    result = await graph.ainvoke({"messages": [("user", question)]})
    return result, result["provenance"]


@pytest.mark.covers("R11")
async def test_a_turn_answers_from_configured_tables(graph):
    result, _ = await turn(graph, "What happened with the seal of the pump?")
    assert result["outcome"] == "answered"
    assert "The seal of a pump leaked." in result["answer"]


@pytest.mark.covers("R15", "A7")
async def test_a_turn_answers_with_a_count(graph):
    result, _ = await turn(graph, "How many critical incidents in March?")
    counted = "count of rows in incidents where severity = critical and month = March: 2"
    # It stands in no row, so it does not look like a quotation.
    assert result["answer"].startswith(f"Computed from the evidence:\n\n{counted} [1]\n— incidents")
    assert [(one["quote"], one.get("computed")) for one in result["citations"]] == [(counted, True)]


@pytest.mark.covers("A7")
async def test_what_a_source_read_as_a_whole_has_no_doubt_whatever_words_its_rows_have(graph):
    result, _ = await turn(graph, "Wie viele kritische incidents im März?")
    assert result["support"]["answerable"] < 1.0
    read, _ = await turn(graph, "How many incidents were there altogether?")
    assert ("5" in read["answer"], read["support"]["answerable"]) == (True, 1.0)


@pytest.mark.covers("A7", "S5")
async def test_of_what_would_have_to_be_computed_it_is_not_said_that_nothing_covers_it(tmp_path):
    path = fill(tmp_path / "d.db", "CREATE TABLE boats (name TEXT, built INTEGER)", boats=[("Teal", 2023)])
    graph = turn_graph(sources=[SqlSource(path, name="tables", index=":memory:")])
    for question, said in (
        ("Which boats were built after 2020?", "not worked out over the rows"),
        ("Welches ist das älteste boats?", "nicht ausgerechnet"),
        ("What is a gluon?", "does not cover"),
    ):
        result, _ = await turn(graph, question)
        assert (result["outcome"], said in result["answer"]) == ("insufficient", True), result["answer"]
    await graph.resources.close()


@pytest.mark.covers("fault 37")
async def test_rows_without_content_are_counted_in_the_provenance(graph, plant):
    change(plant, "UPDATE incidents SET body = NULL WHERE id = 5")
    _, provenance = await turn(graph, "pump")
    assert provenance["sources"]["incidents"]["dropped"] == {"empty": 1}


@pytest.mark.covers("fault 34")
async def test_a_table_that_is_dropped_degrades_the_turn(graph, plant):
    change(plant, "DROP TABLE incidents")
    result, provenance = await turn(graph, "How often is a pump serviced?")
    assert result["outcome"] == "answered"
    assert provenance["sources"]["incidents"]["status"] == "schema_changed"
    assert "no table 'incidents'" in provenance["sources"]["incidents"]["error"]


@pytest.mark.covers("fault 35")
async def test_a_renamed_column_is_named_in_the_provenance(graph, plant):
    change(plant, "ALTER TABLE incidents RENAME COLUMN body TO details")
    result, provenance = await turn(graph, "How often is a pump serviced?")
    assert result["outcome"] == "answered"
    assert provenance["sources"]["incidents"]["status"] == "schema_changed"
    assert provenance["sources"]["incidents"]["error_type"] == "SchemaChanged"
    assert any("SchemaChanged: it is built otherwise" in note for note in result["notes"])
    assert any("'body'" in report.get("error", "") for report in result["provenance"]["sources"].values())
    assert "'body'" in provenance["sources"]["incidents"]["error"]


@pytest.mark.covers("A7", "S5")
@pytest.mark.parametrize(
    "question",
    [
        "Which boats are outside Graz?",
        "Which boats are elsewhere than Graz?",
        "Which boats are far from Graz?",
        "Which boats besides those in Graz are there?",
        "Which boats arent in Graz?",
        "Welche boats liegen außerhalb von Graz?",
        "Welche boats liegen ausserhalb Graz?",
        "Welche boats liegen abseits von Graz?",
        "¿Qué boats están fuera de Graz?",
        "Quels boats sont hors de Graz ?",
        "Quels boats sont en dehors de Graz ?",
        "Какие boats вне Graz?",
        "Какие boats за пределами Graz?",
    ],
)
async def test_rows_of_a_place_are_no_answer_to_what_is_outside_of_it(question, tmp_path):
    rows = [("Teal", "Graz"), ("Heron", "Linz"), ("Ibis", "Graz")]
    path = fill(tmp_path / "d.db", "CREATE TABLE boats (name TEXT, city TEXT)", boats=rows)
    graph = turn_graph(sources=[SqlSource(path, name="tables", index=":memory:")])
    result, _ = await turn(graph, question)
    await graph.resources.close()
    assert (result["outcome"], "count of" in result["answer"]) == ("insufficient", False), result["answer"]


@pytest.mark.covers("A7", "S5")
@pytest.mark.parametrize(
    ("question", "outcome"),
    [
        ("Are all boats paid?", "insufficient"),
        ("Is every boat paid?", "insufficient"),
        ("Has Ann paid all boats?", "insufficient"),
        ("Sind alle boats paid?", "insufficient"),
        ("Hat Ann alle boats paid?", "insufficient"),
        ("¿Están todos los boats paid?", "insufficient"),
        ("Tous les boats sont-ils paid ?", "insufficient"),
        ("Все ли boats paid?", "insufficient"),
        ("Show all paid boats", "answered"),
        ("Do all boats have to be paid before summer?", "answered"),
    ],
)
async def test_that_all_rows_are_so_is_not_told_by_those_that_are(question, outcome, tmp_path):
    script = "CREATE TABLE boats (name TEXT, owner TEXT, paid BOOLEAN)"
    path = fill(tmp_path / "d.db", script, boats=[("Teal", "Ann", True), ("Heron", "Ann", False)])
    texts = InMemorySource(["All boats have to be paid before summer."], name="texts")
    sources = [SqlSource(path, name="tables", index=":memory:"), *([texts] if "summer" in question else [])]
    graph = turn_graph(sources=sources)
    result, _ = await turn(graph, question)
    await graph.resources.close()
    assert result["outcome"] == outcome, result["answer"]
