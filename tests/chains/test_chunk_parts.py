"""Chunks of documents with pages or records (K5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.core.document import MARKDOWN, PDF, PLAIN_TEXT, RECORDS, Document, Heading, Part
from groundgraph.ingest.chunkers import HeadingChunker, WholeTextChunker

pytestmark = pytest.mark.covers("K5")

PIECES = [
    "Words of it. ",
    "word ",
    "\n",
    "\n\n",
    "# One\n",
    "1.1. Two\n\n",
    "field: x\n",
    "```\n",
    "x" * 70,
    " ",
    "漢字。",
]
TEXTS = st.lists(
    st.one_of(st.lists(st.sampled_from(PIECES), max_size=12).map("".join), st.text(max_size=60)), max_size=6
)


def document(texts: list[str], media_type: str = PDF, between: str = "\n\n", **others) -> Document:
    parts, start = [], 0
    for number, text in enumerate(texts, 1):
        parts.append(Part(start, start + len(text), {"page": number}))
        start += len(text) + len(between)
    return Document("d", between.join(texts), media_type, parts=tuple(parts), **others)


@given(TEXTS, st.sampled_from([PDF, RECORDS, MARKDOWN, PLAIN_TEXT]), st.integers(1, 150), st.sampled_from(["", "\n\n"]))
def test_no_chunk_crosses_a_part_and_each_part_loses_no_visible_character(texts, media_type, size, between):
    made = document(texts, media_type, between)
    chunks = HeadingChunker(max_chunk_size=size)(made)
    assert [chunk.position for chunk in chunks] == list(range(len(chunks)))
    for part in made.parts:
        own = [chunk for chunk in chunks if chunk.metadata == part.metadata]
        assert all(part.start <= chunk.start < chunk.end <= part.end for chunk in own)
        assert all(made.text[chunk.start : chunk.end] == chunk.text for chunk in own)
        assert all(len(chunk.text) <= size for chunk in own)
        assert all(chunk.origin == (part.start if media_type == PDF else 0) for chunk in own)
        text = made.text[part.start : part.end]
        assert "".join("".join(chunk.text.split()) for chunk in own) == "".join(text.split())
    assert chunks == sorted(chunks, key=lambda chunk: chunk.start)


@given(TEXTS, st.integers(10, 150), st.data())
def test_marked_headings_are_the_only_ones_of_a_page_and_go_on_over_the_next(texts, size, data):
    made = document(texts)
    marked, offset = [], 0
    for part in made.parts:
        offset = max(offset, part.start)
        if part.end - offset > 2 and data.draw(st.booleans()):
            start = data.draw(st.integers(offset, part.end - 2))
            end = data.draw(st.integers(start + 1, part.end))
            if made.text[start:end].strip():
                marked.append(Heading(start, end, data.draw(st.integers(1, 3)), f"heading {len(marked)}"))
                offset = end
    made = Document("d", made.text, PDF, parts=made.parts, headings=tuple(marked))
    for chunk in HeadingChunker(max_chunk_size=size)(made):
        above = [heading for heading in marked if heading.start <= chunk.start]
        path: list[Heading] = []
        for heading in above:
            path = [*(one for one in path if one.level < heading.level), heading]
        # Headings that stand together go with the first text below them, under the last one.
        within = [heading for heading in marked if chunk.start < heading.start < chunk.end]
        if not within:
            assert chunk.headings[-1:] == tuple(heading.title for heading in path[-1:])
            assert set(chunk.headings) <= {heading.title for heading in marked}


def test_a_record_that_fits_is_one_chunk_and_a_long_one_is_cut_between_its_fields():
    short = "# no heading: x\n\nname: a\nnote: One. Two."
    long = "\n".join(f"field {number}: {'word ' * 8}".strip() for number in range(10))
    made = document([short, long, "  "], RECORDS)
    first, *rest = HeadingChunker(max_chunk_size=200)(made)
    assert (first.text, first.headings, first.origin, first.metadata) == (short, (), 0, {"page": 1})
    assert len(rest) > 1
    assert [line for chunk in rest for line in chunk.text.split("\n")] == long.split("\n")


def test_a_record_with_long_fields_that_fits_is_still_one_chunk():
    record = f"one: {'word ' * 20}\ntwo: {'word ' * 20}".strip()
    assert [
        chunk.text for chunk in HeadingChunker(max_chunk_size=220, min_chunk_size=50)(document([record], RECORDS))
    ] == [record]


def test_the_heading_path_goes_on_from_page_to_page():
    made = document(["Intro\nOne\ntext a", "text b\nTwo\ntext c"])
    starts = [made.text.index("One"), made.text.index("Two")]
    headings = (Heading(starts[0], starts[0] + 3, 1, "One"), Heading(starts[1], starts[1] + 3, 2, "Two"))
    chunks = HeadingChunker()(Document("d", made.text, PDF, parts=made.parts, headings=headings))
    assert [(chunk.text, chunk.headings, chunk.heading_levels) for chunk in chunks] == [
        ("Intro", (), ()),
        ("One\ntext a", ("One",), (1,)),
        ("text b", ("One",), (1,)),
        ("Two\ntext c", ("One", "Two"), (1, 2)),
    ]


def test_running_text_of_a_page_is_cut_between_sentences_and_a_table_between_rows():
    prose = "\n".join(["A sentence that goes on", "over two lines of the page."] * 20)
    # A full stop here and there makes no sentences of the rows.
    names = ["Pump Works. Rosemead" if number % 15 == 4 else "Seal Ltd Monterey" for number in range(60)]
    rows = [f"{number} {name} {number * 7} Layoff" for number, name in enumerate(names)]
    chunks = HeadingChunker(max_chunk_size=300)(document([prose, "\n".join(rows)]))
    texts = {number: [chunk.text for chunk in chunks if chunk.metadata["page"] == number] for number in (1, 2)}
    assert all(text.startswith("A sentence") and text.endswith("page.") for text in texts[1])
    assert [row for text in texts[2] for row in text.split("\n")] == rows


@pytest.mark.covers("K4")
def test_the_identity_chunker_makes_one_chunk_of_each_page_or_record():
    made = document(["one\n\ntwo", " ", "three "])
    assert [(c.text, c.metadata, c.origin, c.position) for c in WholeTextChunker()(made)] == [
        ("one\n\ntwo", {"page": 1}, 0, 0),
        ("three", {"page": 3}, 13, 1),
    ]
