"""What makes a document count as changed (K1)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groundgraph.core.document import Document, Heading, Part
from groundgraph.nodes.ingest.load_documents import content_hash, document_hash

DOCUMENT = Document("d", "text \ud800", "text/plain", {"a": [1, {"b": None}]}, 0, parts=(Part(0, 4, {"page": 1}),))


@pytest.mark.covers("K1")
@pytest.mark.parametrize(
    "change",
    [
        {"text": "texts"},
        {"media_type": "text/markdown"},
        {"metadata": {"a": [1]}},
        {"body_start": 1},
        {"kind": "notes"},
        {"parts": (Part(0, 4, {"page": 2}),)},
        {"parts": (Part(0, 3, {"page": 1}),)},
        {"headings": (Heading(0, 2, 1, "te"),)},
    ],
)
def test_everything_that_chunks_depend_on_is_in_the_hash(change):
    assert content_hash(replace(DOCUMENT, **change)) != content_hash(DOCUMENT)


@pytest.mark.covers("K1")
def test_name_and_warnings_are_not():
    assert content_hash(replace(DOCUMENT, name="e", warnings=("repaired",))) == content_hash(DOCUMENT)


@pytest.mark.covers("K1")
def test_another_chain_or_embedding_model_makes_a_document_count_as_changed():
    hashes = {document_hash("h", chains, model) for chains in ("a", "b") for model in ("", "m")}
    assert len(hashes | {document_hash("i", "a", "")}) == 5
