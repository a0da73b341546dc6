"""Texts of someone's own chunker get exact offsets (K3, K5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.core.document import PDF, Chunk, Document, Part
from groundgraph.ingest.register_chain import located_chunks

pytestmark = pytest.mark.covers("K5")

PIECES = st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=10), max_size=6)


@given(PIECES, st.text(max_size=3))
def test_pieces_of_the_text_are_slices_of_it(pieces, between):
    document = Document("d", between.join(pieces))
    chunks = located_chunks(document, pieces)
    assert [chunk.text for chunk in chunks] == [piece.strip() for piece in pieces if piece.strip()]
    assert [chunk.position for chunk in chunks] == list(range(len(chunks)))
    assert all(document.text[chunk.start : chunk.end] == chunk.text and not chunk.derived for chunk in chunks)


def test_a_text_that_repeats_is_found_behind_the_one_before_it():
    chunks = located_chunks(Document("d", "a b a b"), ["a", "b", "a", "b"])
    assert [chunk.start for chunk in chunks] == [0, 2, 4, 6]


def test_overlapping_texts_are_found_too():
    chunks = located_chunks(Document("d", "one two three"), ["one two", "two three"])
    assert [(chunk.start, chunk.end) for chunk in chunks] == [(0, 7), (4, 13)]


def test_what_does_not_stand_there_is_derived_and_spans_the_body():
    document = Document("d", "front body", body_start=6)
    [front, own] = located_chunks(document, ["front", "written"])
    assert (front.derived, front.start, front.end) == (True, 6, 10)
    assert (own.derived, own.text) == (True, "written")


def test_a_chunk_whose_offsets_are_wrong_is_derived():
    document = Document("d", "one two")
    right, wrong = Chunk(document, 5, 0, 3, ("H",), "one"), Chunk(document, 5, 0, 3, (), "two")
    found = located_chunks(document, [right, wrong])
    assert [(chunk.position, chunk.derived, chunk.headings) for chunk in found] == [(0, False, ("H",)), (1, True, ())]


def test_a_text_of_a_page_knows_the_page():
    pages = Document("d", "One.\fTwo.", PDF, parts=(Part(0, 4, {"page": 1}), Part(5, 9, {"page": 2})))
    found = located_chunks(pages, ["One.", "Two."])
    assert [(chunk.metadata["page"], chunk.start - chunk.origin) for chunk in found] == [(1, 0), (2, 0)]
