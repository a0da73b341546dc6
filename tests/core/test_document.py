"""Documents, chunks and front matter (K2, K11)."""

from __future__ import annotations

import pytest

from groundgraph.core.document import Chunk, Document
from groundgraph.ingest.load_text import MAX_CHARS, front_matter


def test_a_chunk_without_heading_levels_counts_them_from_one():
    document = Document("docs/a.md", "text", metadata={"title": "A"})
    assert document.title == "A"
    assert Chunk(document, 3, 0, 4, ("A", "B"), "text").heading_levels == (1, 2)
    assert Chunk(document, 3, 0, 4, ("A", "B"), "text", (1, 4)).heading_levels == (1, 4)
    assert Chunk(document, 3, 0, 4, (), "text").chunk_id == "docs/a.md#3"


@pytest.mark.covers("K11")
def test_front_matter_gives_json_values_and_the_offset_behind_it():
    text = "---\ntitle: T\ndate: 2026-03-01\ntags: [a, b]\n---\n# Body\n"
    fields, offset = front_matter(text)
    assert fields == {"title": "T", "date": "2026-03-01", "tags": ["a", "b"]}
    assert text[offset:] == "# Body\n"


@pytest.mark.covers("K11")
@pytest.mark.parametrize(("text", "offset"), [("---\n---\nx", 8), ("---\n# only a comment\n...\nx", 25)])
def test_empty_front_matter_has_no_fields(text, offset):
    assert front_matter(text) == ({}, offset)


@pytest.mark.covers("K11")
@pytest.mark.parametrize("text", ["# A\n---\na: b\n---\n", "---\nnever closed: 1\n", "", "--- a\nb: 1\n---\n"])
def test_text_without_front_matter_has_none(text):
    assert front_matter(text) == ({}, 0)


@pytest.mark.covers("K11")
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
