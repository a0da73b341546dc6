"""Documents, chunks and front matter (K2, K11)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groundgraph.core.document import Chunk, Document, Heading, Part
from groundgraph.ingest.load_text import MAX_CHARS, front_matter
from groundgraph.nodes.ingest.load_documents import content_hash, document_hash

pytestmark = pytest.mark.covers("K11")


def test_a_chunk_without_heading_levels_counts_them_from_one():
    document = Document("docs/a.md", "text", metadata={"title": "A"})
    assert document.title == "A"
    assert Chunk(document, 3, 0, 4, ("A", "B"), "text").heading_levels == (1, 2)
    assert Chunk(document, 3, 0, 4, ("A", "B"), "text", (1, 4)).heading_levels == (1, 4)
    assert Chunk(document, 3, 0, 4, (), "text").chunk_id == "docs/a.md#3"


def test_front_matter_gives_json_values_and_the_offset_behind_it():
    text = "---\ntitle: T\ndate: 2026-03-01\ntags: [a, b]\n---\n# Body\n"
    fields, offset = front_matter(text)
    assert fields == {"title": "T", "date": "2026-03-01", "tags": ["a", "b"]}
    assert text[offset:] == "# Body\n"


@pytest.mark.parametrize(("text", "offset"), [("---\n---\nx", 8), ("---\n# only a comment\n...\nx", 25)])
def test_empty_front_matter_has_no_fields(text, offset):
    assert front_matter(text) == ({}, offset)


@pytest.mark.parametrize("text", ["# A\n---\na: b\n---\n", "---\nnever closed: 1\n", "", "--- a\nb: 1\n---\n"])
def test_text_without_front_matter_has_none(text):
    assert front_matter(text) == ({}, 0)


@pytest.mark.parametrize(
    "yaml",
    [
        "- a\n- b",
        "just words",
        "a: [",
        "a: &x 1\nb: *x",
        "a: !!python/object:os.system {}",
        "k: " + "v" * MAX_CHARS,
    ],
    ids=["list", "scalar", "broken", "alias", "fault_66_python_object", "too_long"],
)
def test_front_matter_that_is_no_safe_mapping_is_refused(yaml):
    with pytest.raises(ValueError, match=r"\w"):
        front_matter(f"---\n{yaml}\n---\nbody")


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
