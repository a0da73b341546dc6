"""The plan of a search: text and filter are each served by an index, the text index is read once (L5)."""

from __future__ import annotations

import pytest
from asking import ask, opened
from sqlalchemy import text
from sqlalchemy.dialects import postgresql

from groundgraph.sources.sql import SqlSource
from groundgraph.sources.sql.postgres.lexemes import Weighted, candidates_statement
from groundgraph.sources.sql.shape import Wanted

pytestmark = pytest.mark.covers("L5")

SCRIPT = """
CREATE TABLE docs (id int PRIMARY KEY, body text, category text, region text);
INSERT INTO docs SELECT n, 'word' || n % 5000 || ' thing' || n % 97 || ' part' || n % 11, 'c' || n % 50,
    CASE WHEN n % 100 < 28 THEN 'north' ELSE 'south' END FROM generate_series(1, 60000) n;
CREATE INDEX by_category ON docs (category);
CREATE INDEX by_region ON docs (region);
"""
INDEXES = {
    "column": "ALTER TABLE docs ADD words tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED;"
    "CREATE INDEX by_words ON docs USING gin (words);",
    "expression": "CREATE INDEX by_words ON docs USING gin (to_tsvector('english', body));",
}


@pytest.fixture(scope="module", params=INDEXES)
def docs(request, postgres):
    return postgres.database("plans", f"{SCRIPT} {INDEXES[request.param]} ANALYZE docs")


async def plan(source, seeds, filters):
    await ask(source, "word7 thing3")
    database = source._engine._server
    (shape,) = database.shapes(Wanted(["docs"]))
    words = [Weighted(f"'{seed}'", seed, 2.0) for seed in seeds]
    statement = candidates_statement(shape, words, [word.query for word in words], filters, 64)
    written = str(statement.compile(dialect=postgresql.dialect(), compile_kwargs={"literal_binds": True}))
    with database.reading() as connection:
        lines = [row[0] for row in connection.execute(text("EXPLAIN " + written.replace(":", "\\:")))]
    return "\n".join(lines)


@pytest.mark.live
@pytest.mark.parametrize(
    ("seeds", "filters", "filter_index"),
    [
        (["word7"], {}, ""),
        (["thing3"], {"category": "c7"}, "by_category"),
        (["thing3", "part5"], {"category": "c7"}, "by_category"),
        (["word7", "word8"], {"region": "north"}, ""),
    ],
)
async def test_text_and_filter_are_served_by_indexes_and_the_text_index_is_read_once(
    docs, seeds, filters, filter_index
):
    source = opened(SqlSource(docs, table="docs", name="docs", text_search_fields=["body"]))
    found = await plan(source, seeds, filters)
    assert "Seq Scan" not in found, found
    assert found.count("Index Scan on by_words") == 1, found
    assert filter_index in found, found


@pytest.mark.live
async def test_behind_a_narrow_filter_the_commonest_words_are_not_looked_up(docs, statements):
    source = opened(SqlSource(docs, table="docs", name="docs", text_search_fields=["body"]))
    found = await ask(source, "thing3 part5 part7 part9", top_k=10, category="c7")
    searched = [parameters for statement, parameters in statements if "@@" in statement and "ORDER BY" in statement]
    # A filter that keeps 1 200 of 60 000 rows leaves 12 with thing3, and 110 with each of the others.
    (seeds,) = [value for given in searched for value in given.values() if isinstance(value, str) and "|" in value]
    assert "thing3" in seeds
    assert seeds.count("part") == 2
    assert len(found) == 10
    assert "thing3" in found[0].content
