"""Words and vectors together, with a real pgvector (R3)."""

from __future__ import annotations

import pytest
from asking import ask, opened
from langchain_core.embeddings import Embeddings

from groundgraph import load_settings, turn_graph
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import ConfigurationError, EmbeddingModelChanged, SchemaChanged
from groundgraph.core.failure import collect_degradations
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
    for one in (words_only, both, plain):
        await one.close()


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
    with pytest.raises(EmbeddingModelChanged, match=r"have \d+ numbers, but the embedding model gives 3\."):
        await ask(asked, "pump")
    await asked.close()


@pytest.mark.covers("fault 35")
async def test_a_column_of_vectors_that_is_gone_is_named(url, vector_server):
    asked = opened(source(url))
    assert await ask(asked, "pump")
    vector_server.execute("ALTER TABLE notes RENAME COLUMN near TO far", "vectors")
    with pytest.raises(SchemaChanged, match="no column 'near' of the type vector any more") as raised:
        await ask(asked, "pump")
    assert raised.value.field == "near"


async def test_without_a_text_index_beside_the_vectors_it_is_refused(url, vector_server):
    vector_server.execute("DROP INDEX notes_to_tsvector_idx", "vectors")
    with pytest.raises(ConfigurationError, match="vector_field needs a full-text index"):
        await source(url).query(RetrievalIntent(["pump"]))


async def test_a_column_that_holds_no_vectors_is_refused(url):
    options = PostgresOptions(vector_field="body", embedder=Embedder(NgramEmbeddings(), "ngrams"))
    with pytest.raises(ConfigurationError, match="no column 'body' of the type vector"):
        await SqlSource(url, name="notes", table="notes", postgres=options).query(RetrievalIntent(["pump"]))


class Down(Embeddings):
    def embed_query(self, text):
        raise ConnectionError("the embedding service is down")

    def embed_documents(self, texts):
        raise ConnectionError("the embedding service is down")


@pytest.mark.covers("R3")
@pytest.mark.parametrize("weight", [0.5, 1.0])
async def test_while_the_embedding_model_is_down_words_are_searched_and_it_is_told(url, weight):
    asked = opened(source(url, Embedder(Down(), "down"), vector_weight=weight))
    graph = turn_graph(load_settings({"intent": {"mode": "static"}}), sources=[asked])
    output = await graph.ainvoke({"question": "What leaks at its seal?"})
    assert output["outcome"] == "answered"
    assert TEXTS[0] in output["answer"]
    entry = output["provenance"]["sources"]["notes"]
    assert [(one["part"], one["error_type"]) for one in entry["degraded"]] == [("vectors", "ConnectionError")]
    assert any("vectors" in note for note in output["notes"])


@pytest.mark.covers("R3")
@pytest.mark.parametrize("weight", [0.5, 1.0])
async def test_a_column_without_any_vector_is_searched_by_words_and_it_is_told(url, vector_server, weight):
    vector_server.execute("UPDATE notes SET near = NULL", "vectors")
    with collect_degradations() as told:
        found = await ask(opened(source(url, vector_weight=weight)), "canteen soup")
    assert found[0].content == TEXTS[2]
    assert [(one["part"], one["reason"]) for one in told] == [("vectors", "no row of 'notes' has one in 'near'")]
    vector_server.execute("DELETE FROM notes", "vectors")
    with collect_degradations() as told:
        assert await ask(opened(source(url, vector_weight=weight)), "canteen soup") == []
    assert told == []


class East(Embeddings):
    def embed_query(self, text):
        return [1.0, 0.0, 0.0]

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]


@pytest.mark.covers("R10")
@pytest.mark.parametrize(
    "index", ["ivfflat (near vector_cosine_ops) WITH (lists = 20)", "hnsw (near vector_cosine_ops)"]
)
@pytest.mark.parametrize("kept", [200, 25_000])
async def test_an_index_over_vectors_loses_no_row_that_a_filter_keeps(vector_server, index, kept):
    """Nothing but its vector finds the row, and the rows of another tenant are all nearer."""
    place = vector_server.database(
        "indexed",
        f"""
        CREATE EXTENSION vector;
        CREATE TABLE notes (id int PRIMARY KEY, body text, tenant text, near vector(3));
        INSERT INTO notes SELECT n, 'Of the others.', 'others', ARRAY[1, 0.1 * random(), 0.1 * random()]::vector
            FROM generate_series(1, 2000) n;
        INSERT INTO notes SELECT n, 'Far away.', 'ours', ARRAY[cos(turn), sin(turn), 0.1 * random()]::vector
            FROM (SELECT n, 0.8 + random() AS turn FROM generate_series(2001, 2000 + {kept}) n) AS turned;
        INSERT INTO notes VALUES (0, 'The seal drips.', 'ours', '[0.8, 0.6, 0]');
        CREATE INDEX ON notes USING gin (to_tsvector('english', body));
        CREATE INDEX ON notes USING {index};
        ANALYZE notes
        """,
    )
    asked = opened(source(place, Embedder(East(), "east"), vector_weight=1.0))
    found = await asked.query(RetrievalIntent(["leakage"], {"notes": {"tenant": "ours"}}), top_k=3)
    assert [result.content for result in found] == ["The seal drips.", "Far away.", "Far away."]
    assert found[0].relevance == pytest.approx(0.8, abs=1e-3)
