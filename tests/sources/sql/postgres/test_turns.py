"""Whole turns over PostgreSQL: the same conversation as over SQLite, and tenants apart in every intent mode."""

from __future__ import annotations

import json

import pytest
from asking import opened
from plant_database import INCIDENTS, fill

from groundgraph import Context, load_settings, open_graph
from groundgraph.sources.sql import SqlSource
from groundgraph.testing import ScriptedChatModel

pytestmark = pytest.mark.live
SCRIPT = """
CREATE TABLE incidents (id INTEGER PRIMARY KEY, title TEXT, body TEXT, severity TEXT, month TEXT, duration REAL,
    day DATE)
"""
QUESTIONS = [
    "Which pump leaked?",
    "And when was the fire alarm?",
    "How many critical incidents in March?",
    "What colour is the moon?",
    "Thanks!",
]


def shape_of(value):
    """A record without its values: what a reader of the JSON can rely on."""
    if isinstance(value, dict):
        return {key: shape_of(inner) for key, inner in sorted(value.items())}
    if isinstance(value, list):
        return [shape_of(value[0])] if value else []
    return type(value).__name__ if not isinstance(value, int | float) else "number"


async def conversation(source, base_dir, kept):
    given = {"intent": {"mode": "static"}, "synthesis": {"style": "structured"}, "checkpointer": kept, "store": kept}
    settings = load_settings(given).model_copy(update={"base_dir": base_dir})
    turns = []
    async with open_graph(settings, sources=[source]) as graph:
        for question in QUESTIONS:
            output = await graph.ainvoke({"question": question}, {"configurable": {"thread_id": "t"}})
            cited = [(citation["source_id"], citation["quote"]) for citation in output["citations"]]
            turns.append((output["outcome"], output["answer"], cited, shape_of(output["provenance"])))
    return turns


@pytest.mark.parametrize("native", [False, True])
async def test_a_conversation_has_the_same_outcomes_citations_and_provenance_as_on_sqlite(postgres, tmp_path, native):
    path = fill(tmp_path / "plant.db", SCRIPT, incidents=INCIDENTS)
    url = postgres.database("talk", SCRIPT)
    postgres.fill("talk", incidents=INCIDENTS)
    if native:
        postgres.execute("CREATE INDEX ON incidents USING gin (to_tsvector('english', title || ' ' || body))", "talk")
    options = {"name": "incidents", "table": "incidents", "content_field": "body", "text_search_fields": ["title"]}
    here, there = (
        opened(SqlSource(path, index=":memory:", **options)),
        opened(SqlSource(url, index=":memory:", **options)),
    )
    on_sqlite = await conversation(here, tmp_path / "a", {"type": "memory"})
    on_server = await conversation(there, tmp_path / "b", {"type": "postgres", "url": postgres.database("kept")})
    for expected, found in zip(on_sqlite, on_server, strict=True):
        assert found[:3] == expected[:3]
        assert found[3] == expected[3]


TENANTS = ["acme", "Acme", "acme-corp", "acme corp"]
MODES = {
    "static": {"mode": "static"},
    "extract without a model": {"mode": "extract"},
    "extract": {"mode": "extract"},
    "template": {"mode": "template", "template": "text_queries: ['{{ message }}']\nfilters: {notes: {tenant: acme}}"},
}


@pytest.mark.covers("fault 59", "fault 60")
@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("mode", MODES)
async def test_a_tenant_sees_its_own_rows_in_every_intent_mode(postgres, tmp_path, mode, native):
    url = postgres.database("scoped", "CREATE TABLE notes (id serial PRIMARY KEY, tenant text, body text)")
    for tenant in TENANTS:
        postgres.execute("INSERT INTO notes (tenant, body) VALUES (%s, %s)", "scoped",
                         parameters=[tenant, f"The shared budget of {tenant}."])  # fmt: skip
    if native:
        postgres.execute("CREATE INDEX ON notes USING gin (to_tsvector('english', body))", "scoped")
    settings = load_settings({
        "intent": MODES[mode], "synthesis": {"style": "structured"},
        "retrieval": {"scope_filters": {"notes": {"tenant": "context.tenant"}}, "score_threshold": 0.0, "top_k": 20},
        "checkpointer": {"type": "memory"}, "store": {"type": "memory"},
    })  # fmt: skip
    proposed = json.dumps({"text_queries": ["shared budget"], "filters": {"notes": {"tenant": "acme"}}})
    model = {"query_model": ScriptedChatModel(proposed)} if mode == "extract" else {}
    source = opened(SqlSource(url, name="notes", table="notes", index=":memory:"))
    async with open_graph(settings, sources=[source], **model) as graph:
        for tenant in TENANTS:
            output = await graph.ainvoke(
                {"question": "What is the shared budget?"},
                {"configurable": {"thread_id": tenant}},
                context=Context(scope={"tenant": tenant}),
            )
            found = [row["metadata"]["tenant"] for row in output["provenance"]["results"]]
            assert found == [tenant]
