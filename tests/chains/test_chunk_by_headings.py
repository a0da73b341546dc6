"""The default chunker (K5): headings, paragraphs, sentences, spaces."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from groundgraph.core.document import MARKDOWN, PLAIN_TEXT, RESTRUCTURED_TEXT, Chunk, Document
from groundgraph.ingest.chunkers import HeadingChunker, WholeTextChunker

pytestmark = pytest.mark.covers("K5")

PIECES = [
    "# One\n", "## Two ##\n", "#### Four\n", "Setext\n===\n", "Under\n-----\n", "10.  Security\n",
    "1.1. Roles\n", "Abstract\n", "\n", "\n\n", "A sentence here. ", "Another one! ", "word ",
    "   indented text\n", "```\ncode\n\n", "```\n", "| a | b |\n|---|---|\n", "| 1 | 2 |\n", "- item\n",
    "> quote\n", "漢字。", "[ref]: http://a.b\n", "предложение. ", "\u00a0", "\t", "\r", "\r\n", "\x0c",
    "\u2028", "---\n", "<div>\n", "x" * 60, "\ufeff", "\x00", "Over::\n\n", ".. note:: A\n", "..\n", "= =\n",
    "====\n", "+-+-+\n", ":f: x\n", ">>> x\n", "__ x\n", "1. a\n", "term\n  is\n", "| line\n", "-f  file\n",
]  # fmt: skip
TEXTS = st.one_of(st.lists(st.sampled_from(PIECES), max_size=40).map("".join), st.text(max_size=300))


def chunked(text: str, media_type: str = MARKDOWN, **options: int) -> list[Chunk]:
    return HeadingChunker(**options)(Document("d", text, media_type))


@given(TEXTS, st.sampled_from([MARKDOWN, PLAIN_TEXT, RESTRUCTURED_TEXT]), st.integers(1, 120))
@example("# " + "long title " * 20 + "\n\nText.", MARKDOWN, 30)
@example("a" * 500, PLAIN_TEXT, 100)
def test_chunks_tile_any_text_in_order_without_overlap_and_lose_no_visible_character(text, kind, size):
    chunks = chunked(text, kind, max_chunk_size=size)
    offset = 0
    for position, chunk in enumerate(chunks):
        assert chunk.position == position
        assert chunk.start >= offset
        assert not text[offset : chunk.start].strip()
        assert text[chunk.start : chunk.end] == chunk.text
        assert 0 < len(chunk.text) <= size
        assert chunk.text == chunk.text.strip()
        assert len(chunk.headings) == len(chunk.heading_levels)
        offset = chunk.end
    assert not text[offset:].strip()


@given(TEXTS, st.integers(0, 50))
def test_nothing_before_the_body_is_chunked(text, before):
    start = min(before, len(text))
    chunks = HeadingChunker(max_chunk_size=50)(Document("d", text, MARKDOWN, body_start=start))
    assert all(chunk.start >= start for chunk in chunks)
    assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(text[start:].split())


def test_markdown_headings_of_both_kinds_become_the_heading_path():
    text = "intro\n\nTop\n===\n\nleft\n\n### Deep `code` *x*\n\nbelow\n\nNext\n---\n\nend\n"
    assert [(c.headings, c.heading_levels, c.text) for c in chunked(text)] == [
        ((), (), "intro"),
        (("Top",), (1,), "Top\n===\n\nleft"),
        (("Top", "Deep code x"), (1, 3), "### Deep `code` *x*\n\nbelow"),
        (("Top", "Next"), (1, 2), "Next\n---\n\nend"),
    ]


def test_a_hash_inside_a_fence_is_no_heading():
    chunks = chunked("# A\n\n```\n# not a heading\n```\n")
    assert [chunk.headings for chunk in chunks] == [("A",)]


def test_a_heading_without_text_goes_with_the_first_chunk_below_it():
    chunks = chunked("# Guide\n\n## Install\n\npip\n\n## Empty\n\n## Use\n\nrun\n")
    assert [chunk.text for chunk in chunks] == ["# Guide\n\n## Install\n\npip", "## Empty", "## Use\n\nrun"]
    assert chunks[0].headings == ("Guide", "Install")


def test_a_fence_or_table_that_fits_is_not_split():
    code = "```python\n" + "\n\n".join(f"line_{n} = {n}. # One. Two." for n in range(5)) + "\n```"
    table = "| a | b |\n|---|---|\n" + "\n".join(f"| {n} | One. Two. |" for n in range(8))
    text = f"# H\n\n{'Words here. ' * 9}\n\n{code}\n\n{'More words. ' * 9}\n\n{table}\n"
    texts = [chunk.text for chunk in chunked(text, max_chunk_size=200)]
    assert any(code in piece for piece in texts)
    assert any(table in piece for piece in texts)


def test_code_of_restructuredtext_is_not_parted_from_what_announces_it():
    above, announced = "A paragraph about pumps. " * 2, "It runs so::\n\n    pump()\n\n    pump(2)"
    text = f"{above.strip()}\n\n{announced}\n\nThe end."
    both = [above.strip(), f"{announced}\n\nThe end."]
    assert [one.text for one in chunked(text, RESTRUCTURED_TEXT, max_chunk_size=70)] == both
    # What does not fit together is cut all the same.
    assert chunked(text, RESTRUCTURED_TEXT, max_chunk_size=30)[-2].text == "It runs so::"


def test_a_fence_that_does_not_fit_is_cut_at_line_ends():
    code = "```\n" + "\n".join(f"call({n}). Then(more)" for n in range(40)) + "\n```"
    assert all(line in code.split("\n") for c in chunked(code, max_chunk_size=100) for line in c.text.split("\n"))


def test_tiny_paragraphs_are_packed_and_long_ones_stand_alone():
    tiny, long = "Short one.", "This is a longer paragraph. " * 4
    text = f"# H\n\n{tiny}\n\n{tiny}\n\n{long}\n\n{long}\n"
    texts = [c.text for c in chunked(text, max_chunk_size=200, min_chunk_size=60)]
    assert texts == [f"# H\n\n{tiny}\n\n{tiny}\n\n{long}".strip(), long.strip()]


def test_a_heading_is_not_left_alone_when_its_paragraph_is_too_long():
    chunks = chunked("# Heading\n\n" + "A sentence of some length. " * 40, max_chunk_size=200)
    assert chunks[0].text.startswith("# Heading\n\nA sentence")
    assert all(chunk.text.endswith("length.") for chunk in chunks)


@pytest.mark.covers("fault 51")
def test_text_without_newlines_is_chunked():
    chunks = chunked("One sentence stands here. " * 400, PLAIN_TEXT)
    assert len(chunks) > 10
    assert all(chunk.text.endswith("here.") for chunk in chunks)
    assert all(len(chunk.text) > 700 for chunk in chunks[:-1])


@pytest.mark.covers("fault 51")
def test_text_without_newlines_and_sentences_is_chunked_at_spaces():
    chunks = chunked("word " * 1000, PLAIN_TEXT)
    assert len(chunks) == 7
    assert {word for chunk in chunks for word in chunk.text.split()} == {"word"}


RFC = """RFC 6749                        OAuth 2.0                   October 2012


Table of Contents

   1. Introduction ....................................................4
      1.1. Roles ......................................................6

2. Protocol ...........................................................8

2.1. Endpoints . . . . . . . . . . . . . . . . . . . . . . . . . . . 12

RFC 6749                        OAuth 2.0                   October 2012

   4. Tokens .........................................................9

1.  Introduction

   In the traditional model, the client requests a resource.

1.1.  Roles

   OAuth defines four roles:

   1. Resource owner

   2. Client



Hardt                        Standards Track                    [Page 5]
\x0c
RFC 6749                        OAuth 2.0                   October 2012


10.1.  Client Authentication

   The authorization server establishes credentials.

Appendix A.  Augmented Backus-Naur Form

   Text.

A.1.  "client_id" Syntax

   Text.
"""


def test_numbered_headings_of_an_rfc_are_found_and_page_furniture_is_not():
    assert list(dict.fromkeys(chunk.headings for chunk in chunked(RFC, PLAIN_TEXT))) == [
        (),
        ("Table of Contents",),
        ("1. Introduction",),
        ("1. Introduction", "1.1. Roles"),
        ("1. Introduction", "10.1. Client Authentication"),
        ("Appendix A. Augmented Backus-Naur Form",),
        ("Appendix A. Augmented Backus-Naur Form", 'A.1. "client_id" Syntax'),
    ]


def test_a_numbered_list_is_not_taken_for_headings():
    chunks = chunked("1. Open the door\n\n2. Walk in\n\n3. Close it\n\nDone at last.", PLAIN_TEXT)
    assert [chunk.headings for chunk in chunks] == [()]


def test_underlined_headings_have_levels_in_order_of_first_use():
    text = "=====\nTitle\n=====\n\nPart\n----\n\ntext\n\nSub\n~~~\n\nmore\n\nPart 2\n------\n\nend\n"
    assert [chunk.headings for chunk in chunked(text, RESTRUCTURED_TEXT)] == [
        ("Title", "Part"),
        ("Title", "Part", "Sub"),
        ("Title", "Part 2"),
    ]


@pytest.mark.covers("K4")
def test_the_identity_chunker_makes_the_whole_body_one_chunk():
    [chunk] = WholeTextChunker()(Document("d", "---\n# A\n\n" + "b. " * 500, MARKDOWN, body_start=4))
    assert (chunk.start, chunk.end, chunk.headings) == (4, 9 + 1500 - 1, ())
    assert WholeTextChunker()(Document("d", " \n ")) == []


def paths(text: str) -> list[str]:
    return [chunk.headings[-1] if chunk.headings else "" for chunk in HeadingChunker()(Document("d", text))]


LONG = "10.16.  Misuse of Access Token to Impersonate Resource Owner in Implicit\n        Flow\n"


def test_a_heading_may_go_on_below_the_beginning_of_its_words():
    text = f"10.15.  Open Redirectors\n\n   An open redirector is bad.\n\n{LONG}\n   For public clients it is.\n"
    assert paths(text) == [
        "10.15. Open Redirectors",
        "10.16. Misuse of Access Token to Impersonate Resource Owner in Implicit Flow",
    ]


@pytest.mark.parametrize(
    "text",
    [
        # A sentence.
        "1. Take the screwdriver that came with the box and\n   open the lid.\n\n   Then go on.\n",
        # Its text is no deeper.
        "1. Take the screwdriver that came with the box and\n   open the lid\n\nThen go on.\n",
        # It does not go on below its words.
        "1. Take the screwdriver that came with the box and\nopen the lid\n\n   Then go on.\n",
        # It goes on for a paragraph.
        "1. Take the screwdriver that came\n   with the box and open\n   the lid\n\n   Then go on.\n",
    ],
)
def test_a_wrapped_item_of_a_list_is_no_heading(text):
    assert set(paths(text)) == {""}


def test_rfc_6749_has_all_sixteen_sections_of_its_security_considerations(data: Path):
    text = (data / "documents" / "text" / "rfc6749.txt").read_text("utf-8")
    found = dict.fromkeys(name for name in paths(text) if name.startswith("10."))
    assert [name.split(" ")[0] for name in found] == ["10.", *(f"10.{number}." for number in range(1, 17))]


@pytest.mark.parametrize(
    ("head", "named"),
    [
        ("| **Machine** | Power |\n|---|:-:|", "Machine | Power"),
        ("Machine   | Power\n--- | ---", "Machine | Power"),
        (f"| {'Machine' * 60} | Power |\n|---|---|", ""),
    ],
)
def test_rows_in_another_chunk_than_the_names_of_their_columns_have_these_as_heading(head, named):
    rows = "\n".join(f"| K{n} | {n} kW |" for n in range(100))
    chunks = chunked(f"# Plant\n\n{head}\n{rows}\n\nThe end.\n", max_chunk_size=600, min_chunk_size=300)
    first, *others, last = chunks
    assert first.headings == ("Plant",)
    assert len(others) > 1
    assert {chunk.headings for chunk in others} == {("Plant", named) if named else ("Plant",)}
    assert last.headings == ("Plant",)
    assert last.text.endswith("The end.")
    assert "|" not in last.text or not named, "what stands behind the table is not below its columns"
    text = "".join("".join(chunk.text.split()) for chunk in chunks)
    assert text.count("K99") == 1


def test_long_code_has_no_names_of_columns():
    code = "```\n" + "| a | b |\n|---|---|\n" * 40 + "```"
    assert {chunk.headings for chunk in chunked(code, max_chunk_size=100)} == {()}
