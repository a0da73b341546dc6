"""Any name is an identifier, any text a question or a value (R3)."""

from __future__ import annotations

import asyncio
import string
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from plant_database import fill

from groundgraph.core.intent import RetrievalIntent
from groundgraph.sources.sql import SqlSource
from groundgraph.text.words import query_stems, stems

pytestmark = pytest.mark.covers("R3")

# SQLite stores any text but a NUL character and halves of surrogate pairs.
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
NAME = TEXT.filter(lambda name: name.strip() and not name.startswith(("_", "sqlite_")))
QUICK = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@pytest.mark.guard
@QUICK
@example(table="0", column="%(", value="v", question="needle")
@example(table="%(a)s", column=":a", value="%(b)s", question=":b")
@given(table=NAME, column=NAME, value=TEXT, question=TEXT)
def test_any_name_is_an_identifier_and_any_text_a_value(table, column, value, question):
    async def ask(path: Path) -> None:
        source = SqlSource(path, table=table, name="fuzz", index=":memory:")
        await source.query(RetrievalIntent([question, value]))
        found = await source.query(RetrievalIntent(["needle"], {"fuzz": {column: value}}), top_k=3)
        assert [result.metadata[column] for result in found] == [value]
        for hostile in ("'; DROP TABLE x; --", f"{quoted(table)}; --", "%", "\\"):
            await source.query(RetrievalIntent(["needle"], {"fuzz": {column: {"contains": hostile}}}))
        await source.close()

    with tempfile.TemporaryDirectory() as folder:
        script = f"CREATE TABLE {quoted(table)} ({quoted(column)} TEXT, {quoted(column + '2')} TEXT)"
        other = value + "x"
        rows = {table.replace('"', '""'): [(value, "needle"), (other, "needle")]}
        asyncio.run(ask(fill(Path(folder) / "fuzz.db", script, **rows)))


TOKENS = st.lists(st.sampled_from(["pump", "valve", "leak", "seal", "hall", "red", "the"]), max_size=5).map(" ".join)


@QUICK
@given(rows=st.lists(st.tuples(TOKENS, TOKENS), min_size=1, max_size=12), question=TOKENS.filter(query_stems))
def test_relevance_and_order_are_as_defined_for_any_rows(rows, question):
    records = [{"id": str(n), "title": title, "body": body or "-"} for n, (title, body) in enumerate(rows)]
    asked = query_stems(question)
    expected = {}
    for record in records:
        content, other = set(stems(record["body"])), set(stems(record["title"]))
        held = [1.0 if stem in content else 0.5 if stem in other else 0.0 for stem in asked]
        if any(held):
            expected[f"fuzz/{record['id']}"] = sum(held) / len(asked)

    async def ask():
        source = SqlSource.from_records(records, name="fuzz", content_field="body", text_search_fields=["title"])
        found = await source.query(RetrievalIntent([question]), top_k=20)
        await source.close()
        return found

    found = asyncio.run(ask())
    assert {r.source_id: r.relevance for r in found} == {name: max(0.05, value) for name, value in expected.items()}
    places = [(r.score, r.relevance) for r in found]
    assert places == sorted(places, reverse=True)


@pytest.mark.guard
@QUICK
@given(name=st.text(string.printable, min_size=1, max_size=60))
def test_any_name_of_a_source_is_a_file_name_of_its_index(name):
    from groundgraph.sources.sql.index_file import default_index

    path = default_index(Path("base"), name, "somewhere")
    assert path.parent == Path("base/.groundgraph/index")
    assert "/" not in path.name
    assert path.suffix == ".sqlite"
