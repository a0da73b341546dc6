"""Measuring a topic index: a corpus with heading paths becomes one document with headings (done 2 of issue 7)."""

from __future__ import annotations

from pathlib import Path

import pytest
from evaluated import ndcg

from groundgraph import load_settings
from groundgraph.evals.corpus_base import corpus_base, outline_document
from groundgraph.evals.dataset import Corpus, DatasetFiles, Passage, load_dataset
from groundgraph.evals.run_queries import has_topic_index
from groundgraph.evals.stored_vectors import stored_embedder

TREE = {"type": "heading_tree"}


def test_a_passage_is_a_chunk_under_the_headings_that_its_title_names():
    rows = [
        ("1", "Guide > Setup", "Plug it in."),
        ("2", "", "No title."),
        ("3", "Guide", " "),
        ("4", "Guide > Use", "Go."),
    ]
    passages = tuple(Passage(name, name, f"{title} {body}", body) for name, title, body in rows)
    document, chunker = outline_document(Corpus("docs", Path("c.jsonl"), passages, "x"))
    chunks = chunker(document)
    assert [(chunk.metadata["passage"], chunk.headings, chunk.text) for chunk in chunks] == [
        ("1", ("Guide", "Setup"), "Guide > Setup Plug it in."),
        ("2", (), "No title."),
        ("3", ("Guide",), "Guide"),
        ("4", ("Guide", "Use"), "Guide > Use Go."),
    ]
    assert all(document.text[chunk.start : chunk.end] == chunk.text for chunk in chunks)


def test_only_a_configuration_with_an_index_needs_an_outline():
    assert not has_topic_index(load_settings({}))
    assert has_topic_index(load_settings({"knowledge_base": {"topic_index": TREE}}))
    assert has_topic_index(load_settings({"sources": [{"type": "vector_kb", "topic_index": TREE}]}))
    assert not has_topic_index(load_settings({"sources": [{"type": "database", "name": "d", "topic_index": TREE}]}))


async def measured(data: Path, folder: Path, *, index: bool, vectors: bool) -> float:
    dataset = load_dataset(DatasetFiles(data / "rfc6749_qa"))
    embedder = stored_embedder(data / "vectors", dataset, languages=["en"]) if vectors else None
    settings = load_settings({"knowledge_base": {"topic_index": TREE if index else None}})
    [corpus] = dataset.corpora
    bases = {corpus.name: await corpus_base(corpus, folder, embedder=embedder, outline=index)}
    return await ndcg(dataset, bases, settings, len(dataset.queries), embedder)


async def test_with_an_index_rfc6749_qa_is_at_least_the_lexical_figure(data: Path, tmp_path: Path):
    lexical = await measured(data, tmp_path, index=False, vectors=False)
    with_index = await measured(data, tmp_path, index=True, vectors=True)
    assert with_index >= lexical
    assert with_index == pytest.approx(0.925, abs=0.03)
