"""A corpus in a SQL database; what it finds is compared in `test_corpora_elsewhere.py`."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from groundgraph import load_settings
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import SourceUnavailable
from groundgraph.evals.corpus_base import corpus_in_sql
from groundgraph.evals.dataset import DatasetFiles, load_dataset
from groundgraph.evals.run_queries import evaluation_settings, run_queries
from groundgraph.testing import NgramEmbeddings

pytestmark = pytest.mark.covers("U5")

PASSAGES = [
    {"_id": "tokens", "title": "Tokens", "text": "An access token expires after one hour."},
    {"_id": "refresh", "title": "Refresh", "text": "A refresh token\0 lives for thirty days."},
]


def small(folder, rows=PASSAGES):
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "When does an access token expire?"}\n')
    return load_dataset(DatasetFiles(folder, qrels=None))


async def test_a_table_is_written_once_and_one_that_is_not_complete_again(tmp_path):
    (corpus,) = small(tmp_path).corpora
    first = await corpus_in_sql("sqlite:///c.db", corpus, tmp_path)
    with closing(sqlite3.connect(tmp_path / "c.db")) as database:
        database.execute(f"UPDATE {first.table} SET body = 'kept'")
        database.commit()
        assert await corpus_in_sql("sqlite:///c.db", corpus, tmp_path) == first
        assert database.execute(f"SELECT DISTINCT body FROM {first.table}").fetchall() == [("kept",)]
        database.execute(f"DELETE FROM {first.table} WHERE document = 'tokens'")
        database.commit()
        await corpus_in_sql("sqlite:///c.db", corpus, tmp_path)
        assert database.execute(f"SELECT document FROM {first.table} ORDER BY 1").fetchall() == [
            ("refresh",),
            ("tokens",),
        ]
    assert (await corpus_in_sql("sqlite:///c.db", replace(corpus, digest="other"), tmp_path)).table != first.table


async def test_the_source_keeps_the_options_of_the_configured_one(tmp_path):
    dataset = small(tmp_path)
    (corpus,) = dataset.corpora
    configured = {"type": "sql", "name": "mine", "url": "sqlite:///mine.db", "table": "t", "weight": 3, "timeout": 9.0}
    settings = load_settings({"sources": [configured], "knowledge_base": {}})
    tables = {corpus.name: await corpus_in_sql("sqlite:///c.db", corpus, tmp_path)}
    measured = evaluation_settings(settings, tables, as_configured=False)
    (entry,) = measured.sources
    assert (entry.type, entry.weight, entry.timeout) == ("sql", 3, 9.0)
    assert entry.options["table"] == tables[corpus.name].table
    (found,) = await run_queries(measured, dataset.corpora, dataset.queries)
    assert found.documents[0] == "tokens"


async def test_a_statement_of_the_source_counts_as_no_passage(tmp_path):
    dataset = small(tmp_path)
    (corpus,) = dataset.corpora
    tables = {corpus.name: await corpus_in_sql("sqlite:///c.db", corpus, tmp_path)}
    settings = evaluation_settings(load_settings({}), tables, as_configured=False)
    query = replace(dataset.queries[0], turns=(("user", "What is the median of document by body?"),))
    (found,) = await run_queries(settings, dataset.corpora, [query])
    assert found.failures == ()
    assert set(found.documents) <= {"tokens", "refresh"}


async def test_a_file_that_cannot_be_opened_is_not_called_a_server(tmp_path):
    (corpus,) = small(tmp_path).corpora
    with pytest.raises(SourceUnavailable, match="unable to open database file") as raised:
        await corpus_in_sql(f"sqlite:///{tmp_path}", corpus, tmp_path)
    assert "PostgreSQL" not in str(raised.value)


@pytest.mark.live
async def test_passages_get_vectors_where_the_server_has_pgvector(vector_server, tmp_path):
    dataset = small(tmp_path)
    (corpus,) = dataset.corpora
    embedder = Embedder(NgramEmbeddings(), "ngrams")
    url = vector_server.database("evaluated")
    assert not (await corpus_in_sql(url, corpus, tmp_path, embedder)).has_vectors
    # The table that is there has none.
    vector_server.execute("CREATE EXTENSION vector", "evaluated")
    found = await corpus_in_sql(url, corpus, tmp_path, embedder)
    assert found.has_vectors
    settings = evaluation_settings(load_settings({}), {corpus.name: found}, as_configured=False)
    query = replace(dataset.queries[0], turns=(("user", "refreshing tokenization"),))
    (answered,) = await run_queries(settings, dataset.corpora, [query], None, embedder)
    assert answered.failures == ()
    assert answered.documents[0] == "refresh"
