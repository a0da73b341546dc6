"""Numbered headings of plain texts that are longer than a line (K5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundgraph.core.document import Document
from groundgraph.ingest.chunkers import HeadingChunker


def paths(text: str) -> list[str]:
    return [chunk.headings[-1] if chunk.headings else "" for chunk in HeadingChunker()(Document("d", text))]


LONG = "10.16.  Misuse of Access Token to Impersonate Resource Owner in Implicit\n        Flow\n"


@pytest.mark.covers("K5")
def test_a_heading_may_go_on_below_the_beginning_of_its_words():
    text = f"10.15.  Open Redirectors\n\n   An open redirector is bad.\n\n{LONG}\n   For public clients it is.\n"
    assert paths(text) == [
        "10.15. Open Redirectors",
        "10.16. Misuse of Access Token to Impersonate Resource Owner in Implicit Flow",
    ]


@pytest.mark.covers("K5")
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
