"""The heads and feet of pages, in a text and in a PDF (K2, S7)."""

from __future__ import annotations

from pathlib import Path

import pytest
from document_files import pdf
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.ingest.load_document import load_document
from groundgraph.ingest.load_text import MAX_LINES, running_lines, running_metadata
from groundgraph.text.original import RUNNING_LINES, masked_line

pytestmark = pytest.mark.covers("K2")

BODIES = ["The pump is serviced.", "Seals are replaced.", "Oil is drained.", "The log is signed.", "Spares are stored."]


def pages(count: int) -> list[str]:
    """Pages with a head, which is another one on the left, and a foot."""
    heads = ["Pumps and seals", "Manual of 2024"]
    return [f"{heads[n % 2]} {n}\n{BODIES[n % 5]}\nPage {n} of {count}" for n in range(count)]


def test_the_lines_that_stand_at_the_ends_of_many_pages_run_whatever_number_they_hold():
    assert set(running_lines(pages(8))) == {"Pumps and seals #", "Manual of # #", "Page # of #"}


@pytest.mark.parametrize("count", [0, 1, 2])
def test_two_pages_tell_nothing(count):
    assert running_metadata(pages(count)) == {}


def test_a_line_of_few_pages_a_bare_number_and_a_line_amid_the_page_do_not_run():
    few = ["Contents of this", *[f"page {chr(97 + n)}" for n in range(15)]]
    rows = [f"{n}\nfirst of {chr(97 + n)}\nThe same words everywhere.\nlast of {chr(97 + n)}\n{n}" for n in range(16)]
    found = running_lines(
        [f"{row}\n{line}" if n < 3 else row for n, (row, line) in enumerate(zip(rows, few, strict=True))]
    )
    assert found == []


@given(st.lists(st.lists(st.sampled_from(["Head 1", "head", "12", "", "  Foot  3 "]), max_size=6).map("\n".join)))
def test_what_runs_is_masked_has_a_letter_and_stands_on_pages(texts):
    found = running_lines(texts)
    assert len(found) <= MAX_LINES
    lines = {masked_line(line) for text in texts for line in text.split("\n")}
    assert set(found) <= lines
    assert all(any(map(str.isalpha, line)) for line in found)


def test_a_line_with_a_number_of_its_own_on_each_page_is_a_fact_and_does_not_run():
    def sheet(price: int, stock: int) -> str:
        return f"Data sheet\n{price} EUR\n{BODIES[stock % 5]}\nDelivery {price} a\nIn stock: {stock} pieces"

    prices = [199, 320, 85, 1999]
    assert running_lines([sheet(*of) for of in zip(prices, (30, 4, 17, 5), strict=True)]) == ["Data sheet"]
    counted = running_lines([sheet(*of) for of in zip(prices, (1, 2, 3, 4), strict=True)])
    assert counted == ["Data sheet", "In stock: # pieces"]


def test_the_numbers_of_pages_out_of_a_larger_work_run_where_they_end_a_line():
    numbered = [(number, BODIES[number % 5]) for number in range(53_000, 53_009)]
    assert running_lines([f"Register {number}\n{body}\n{body} a" for number, body in numbered]) == ["Register #"]


def test_a_pdf_and_a_text_with_form_feeds_say_which_lines_run_and_keep_their_text(tmp_path: Path):
    texts = pages(6)
    document = load_document(pdf(tmp_path / "a.pdf", texts), "a.pdf")
    assert [document.text[part.start : part.end] for part in document.parts] == texts
    (tmp_path / "a.txt").write_text("\n\f".join(texts))
    plain = load_document(tmp_path / "a.txt", "a.txt")
    assert plain.text == "\n\f".join(texts)
    for loaded in (document, plain):
        assert set(loaded.metadata[RUNNING_LINES]) == {"Pumps and seals #", "Manual of # #", "Page # of #"}
    (tmp_path / "a.md").write_text("\n\f".join(texts))
    assert RUNNING_LINES not in load_document(tmp_path / "a.md", "a.md").metadata


def test_the_heads_and_feet_of_an_rfc_and_of_a_federal_register_are_found(data: Path):
    rfc = load_document(data / "documents/text/rfc6749.txt", "rfc6749.txt")
    assert set(rfc.metadata[RUNNING_LINES]) == {"Hardt Standards Track [Page #]", "RFC # OAuth #.# October #"}
    register = load_document(data / "documents/pdf/federal-register-2020-17221.pdf", "register.pdf")
    found = register.metadata[RUNNING_LINES]
    assert "# Federal Register / Vol. #, No. # / Thursday, August #, # / Proposed Rules" in found
    assert "Federal Register / Vol. #, No. # / Thursday, August #, # / Proposed Rules #" in found
    assert RUNNING_LINES not in load_document(data / "documents/pdf/ca-warn-report.pdf", "warn.pdf").metadata
