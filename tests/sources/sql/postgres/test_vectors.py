"""Words and vectors together, with a real pgvector (R3)."""

from __future__ import annotations

import pytest
from asking import ask

from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import ConfigurationError, SourceUnavailable
from groundgraph.core.intent import RetrievalIntent
from groundgraph.sources.conformance import check_source
from groundgraph.sources.sql import SqlSource
from groundgraph.sources.sql.postgres.options import PostgresOptions
from groundgraph.testing import NgramEmbeddings

pytestmark = pytest.mark.live
TEXTS = [
    "The centrifugal pump leaks at its seal.",
    "Pumping stations leak when seals age.",
    "The canteen serves soup on Mondays.",
    "Leakage of the pumps was reported twice.",
]


@pytest.fixture
async def url(vector_server):
    embedder = Embedder(NgramEmbeddings(), "ngrams")
    rows = await embedder.embed_texts(TEXTS)
    size = len(rows[0])
    made = vector_server.database(
        "vectors",
        "CREATE EXTENSION vector;"
        f"CREATE TABLE notes (id int PRIMARY KEY, body text, tenant text, near vector({size}));"
        "CREATE INDEX ON notes USING gin (to_tsvector('english', body));",
    )
    vector_server.fill(
        "vectors",
        notes=[
            (n, text, "ab"[n % 2], str(row.tolist())) for n, (text, row) in enumerate(zip(TEXTS, rows, strict=True))
        ],
    )
    vector_server.execute("INSERT INTO notes VALUES (9, 'A pump without a vector.', 'a', NULL)", "vectors")
    return made


def source(url, embedder=None, **options):
    embedder = embedder or Embedder(NgramEmbeddings(), "ngrams")
    return SqlSource(
        url, name="notes", table="notes", vector_field="near", embeddings=embedder, postgres=PostgresOptions(**options)
    )


@pytest.mark.covers("R3")
async def test_what_only_the_vectors_find_is_found_and_both_scores_are_fused(url):
    words_only, both = source(url, vector_weight=0.0), source(url)
    plain = SqlSource(url, name="notes", table="notes")
    intent = RetrievalIntent(["leakages of pumpage"])
    by_words = {result.source_id for result in await plain.query(intent)}
    found = await both.query(intent)
    assert by_words < {result.source_id for result in found}
    assert [r.score for r in found] == sorted((r.score for r in found), reverse=True)
    assert all(0 <= result.relevance <= 1 for result in found)
    assert "near" not in found[0].metadata
    for opened in (words_only, both, plain):
        await opened.close()


@pytest.mark.covers("R10")
async def test_filters_hold_for_the_nearest_rows_too(url):
    asked = source(url)
    found = await asked.query(RetrievalIntent(["pump"], {"notes": {"tenant": "b"}}), top_k=10)
    assert found
    assert {result.metadata["tenant"] for result in found} == {"b"}
    (await check_source(asked, query="pump leak")).raise_for_failures()


@pytest.mark.covers("fault 40")
async def test_vectors_of_another_size_are_an_error_that_names_both(url):
    class Short(NgramEmbeddings):
        async def aembed_query(self, text):
            return [1.0, 0.0, 0.0]

    asked = source(url, Embedder(Short(), "short"))
    with pytest.raises(SourceUnavailable, match=r"different vector dimensions \d+ and 3"):
        await ask(asked, "pump")
    await asked.close()


async def test_without_a_text_index_beside_the_vectors_it_is_refused(url, vector_server):
    vector_server.execute("DROP INDEX notes_to_tsvector_idx", "vectors")
    with pytest.raises(ConfigurationError, match="vector_field needs a full-text index"):
        await source(url).query(RetrievalIntent(["pump"]))


async def test_a_column_that_holds_no_vectors_is_refused(url):
    options = PostgresOptions(vector_field="body", embedder=Embedder(NgramEmbeddings(), "ngrams"))
    with pytest.raises(ConfigurationError, match="no column 'body' of the type vector"):
        await SqlSource(url, name="notes", table="notes", postgres=options).query(RetrievalIntent(["pump"]))
