"""PDF files, page by page (K2)."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from document_files import pdf
from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

from groundgraph.core.document import PDF, Document
from groundgraph.core.errors import IngestError
from groundgraph.ingest import load_pdf as read_pdf
from groundgraph.ingest.chunkers import HeadingChunker
from groundgraph.ingest.load_document import load_document
from groundgraph.ingest.load_pdf import page_texts

pytestmark = pytest.mark.covers("K2")

PUMPS = "The coolant pump is serviced every ninety days.\nThe log book is signed afterwards."
SEALS = "Seals of the pump are replaced once a year.\nSpare ones lie in the store."


def loaded(path: Path, **options: str | None) -> Document:
    return load_document(path, path.name, **options)


def watched(method, held: set[bool]):
    def call(*arguments, **options):
        held.add(read_pdf.PDFIUM.locked())
        return method(*arguments, **options)

    return call


def failure(path: Path, **options: str | None) -> str:
    with pytest.raises(IngestError) as caught:
        loaded(path, **options)
    return str(caught.value)


def test_each_page_is_a_part_with_its_number_and_chunks_count_offsets_from_the_page(tmp_path):
    document = loaded(pdf(tmp_path / "a.pdf", [PUMPS, SEALS]))
    assert document.media_type == PDF
    assert [document.text[part.start : part.end] for part in document.parts] == [PUMPS, SEALS]
    assert [part.metadata for part in document.parts] == [{"page": 1}, {"page": 2}]
    first, second = HeadingChunker()(document)
    assert (first.text, first.metadata, first.origin) == (PUMPS, {"page": 1}, 0)
    assert (second.text, second.metadata, second.start - second.origin) == (SEALS, {"page": 2}, 0)
    assert document.warnings == ()


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ("Manual of pumps", "Manual of pumps"),
        ("untitled", "a"),
        ("(anonymous)", "a"),
        ("10811.exe", "a"),
        ("Microsoft Word - x", "a"),
    ],
)
def test_the_title_is_that_of_the_document_unless_a_program_left_it_behind(tmp_path, given, title):
    assert loaded(pdf(tmp_path / "a.pdf", [PUMPS], title=given)).title == title


def test_headings_of_the_outline_are_found_on_their_pages_and_go_on_over_the_next(tmp_path):
    pages = [f"1. Pumps\n{PUMPS}\n1.1 Service\n{PUMPS}", SEALS, f"Valves\n{SEALS}"]
    outline = [(0, 0, "1 Pumps"), (0, 1, "Service"), (2, 0, "2 Valves"), (2, 1, "Not on the page")]
    document = loaded(pdf(tmp_path / "a.pdf", pages, outline=outline, title="untitled"))
    assert [(chunk.headings, chunk.metadata["page"]) for chunk in HeadingChunker()(document)] == [
        (("1 Pumps",), 1),
        (("1 Pumps", "Service"), 1),
        (("1 Pumps", "Service"), 2),
        (("2 Valves",), 3),
    ]
    assert document.title == "1 Pumps"


def test_headings_of_a_tagged_pdf_are_kept(data):
    word = loaded(data / "documents/pdf/word365_structure.pdf")
    assert [(heading.level, heading.title) for heading in word.headings] == [(1, "Titre")]
    writer = loaded(data / "documents/pdf/pdf_structure_fr.pdf")
    assert [chunk.headings for chunk in HeadingChunker()(writer)][1:] == [
        ("Titre 1",),
        ("Titre 1", "Titre 2"),
        ("Titre 1", "Titre 2", "Tableau"),
    ]


def test_columns_are_read_one_after_the_other(data):
    text = loaded(data / "documents/pdf/federal-register-2020-17221.pdf").text
    assert "SUMMARY: The FAA proposes to\nsupersede Airworthiness Directive (AD)\n2018–23–51, which applies to" in text
    assert "align with the other non-normal checklists, and modified to" in text


def test_no_row_of_a_table_is_cut(data):
    document = loaded(data / "documents/pdf/nics-background-checks-2015-11.pdf")
    rows = document.text.split("\n")
    chunks = HeadingChunker()(document)
    assert [row for chunk in chunks for row in chunk.text.split("\n")] == [row.strip() for row in rows if row.strip()]


@pytest.mark.parametrize(
    ("pages", "texts"),
    [
        (["well\ufffe\r\nknown facts"], ["well-known facts"]),
        (["the infor\ufffemation \r\nhere", "Information"], ["the information\nhere", "Information"]),
        (["co\x02op"], ["co-op"]),
        (["a \r\nb\rc\n", " \x0c "], ["a\nb\nc", ""]),
        (["nul\x00 \ud800x"], ["nul x"]),
    ],
)
def test_line_ends_are_normalised_and_a_divided_word_is_put_together(pages, texts):
    assert page_texts(pages) == texts


def test_pages_without_a_text_layer_are_reported_and_what_they_hold_is_kept(tmp_path):
    document = loaded(pdf(tmp_path / "a.pdf", [PUMPS, "", "Figure 7"]))
    assert document.warnings == ("pages 2, 3 with fewer than 20 letters: blank, or without a text layer",)
    assert [part.metadata["page"] for part in document.parts] == [1, 2, 3]
    assert document.text.endswith("Figure 7")


@pytest.mark.covers("fault 52")
def test_a_pdf_without_any_text_layer_is_refused(tmp_path):
    assert "no text layer" in failure(pdf(tmp_path / "a.pdf", ["12 34 56", "x" * 19]))


@pytest.mark.covers("fault 52")
def test_an_encrypted_pdf_says_that_a_password_can_be_given_and_opens_with_the_right_one(tmp_path):
    path = pdf(tmp_path / "a.pdf", [PUMPS], encrypt="secret")
    assert "encrypted; give its password under knowledge_base.passwords" in failure(path)
    assert "does not open it" in failure(path, password="wrong")
    assert loaded(path, password="secret").text == PUMPS


@pytest.mark.covers("fault 52")
def test_a_file_that_is_cut_off_or_no_pdf_is_refused(tmp_path):
    whole = pdf(tmp_path / "a.pdf", [PUMPS]).read_bytes()
    for share in (0.3, 0.7, 0.95):
        (tmp_path / "b.pdf").write_bytes(whole[: int(len(whole) * share)])
        assert "damaged or cut off" in failure(tmp_path / "b.pdf")
    (tmp_path / "c.pdf").write_text("no PDF at all")
    assert "it is no PDF" in failure(tmp_path / "c.pdf")
    (tmp_path / "d.pdf").write_bytes(b"")
    assert failure(tmp_path / "d.pdf") == "the file is empty"
    assert "cannot be read" in failure(tmp_path / "e.pdf")


@pytest.mark.covers("fault 52")
def test_what_pdfium_can_repair_is_never_taken_in_silently(tmp_path):
    path = pdf(tmp_path / "a.pdf", [PUMPS, SEALS])
    path.write_bytes(path.read_bytes().replace(b"%%EOF", b""))
    assert "may be cut off" in loaded(path).warnings[0]


@pytest.mark.covers("fault 52")
def test_a_page_that_cannot_be_read_is_reported(tmp_path):
    path = pdf(tmp_path / "a.pdf", [PUMPS, SEALS, PUMPS])
    data = path.read_bytes()
    pages = data.index(b"/Kids [")
    second = data[pages:].split(b" 0 R")[1].split()[-1]
    path.write_bytes(data.replace(b"\n%s 0 obj" % second, b"\n%s 0 xxx" % second))
    document = loaded(path)
    assert document.warnings == ("page 2 cannot be read; the file may be damaged",)
    assert [document.text[part.start : part.end] for part in document.parts] == [PUMPS, "", PUMPS]


@pytest.mark.covers("fault 52")
def test_the_encrypted_file_of_the_data_opens_with_its_password(data):
    document = loaded(data / "documents/errors/password-example.pdf", password="test")
    assert len(document.parts) == 4
    assert all(document.text[part.start : part.end] for part in document.parts)


def test_a_pdf_with_too_much_text_is_refused_while_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("groundgraph.ingest.load_pdf.MAX_CHARS", 100)
    assert "more than 100 characters; split it" in failure(pdf(tmp_path / "a.pdf", [PUMPS, SEALS]))
    monkeypatch.setattr("groundgraph.ingest.load_pdf.MAX_PAGES", 1)
    assert "2 pages, the most is 1" in failure(pdf(tmp_path / "a.pdf", [PUMPS, SEALS]))


def test_several_threads_read_pdfs_but_only_one_at_a_time_is_in_pdfium(tmp_path, monkeypatch):
    # pdfium may crash when two are, but mostly does not, so every call is watched.
    held: set[bool] = set()
    for owner, method in ((PdfDocument, "get_page"), (PdfPage, "get_textpage"), (PdfTextPage, "get_text_bounded")):
        monkeypatch.setattr(owner, method, watched(getattr(owner, method), held))
    monkeypatch.setattr(PdfDocument, "__getitem__", lambda pdf, number: pdf.get_page(number))
    paths = [pdf(tmp_path / f"{number}.pdf", [f"{PUMPS} {number}"] * 30) for number in range(4)]
    texts: dict[str, str] = {}

    def read(path: Path) -> None:
        for _ in range(5):
            texts[path.name] = loaded(path).text

    threads = [threading.Thread(target=read, args=(path,)) for path in paths]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert held == {True}
    assert {name: text.count(f"afterwards. {name[0]}") for name, text in texts.items()} == {p.name: 30 for p in paths}


def test_a_long_list_of_poor_pages_is_told_in_short(tmp_path):
    [warning] = loaded(pdf(tmp_path / "a.pdf", [PUMPS, *[""] * 30])).warnings
    assert "20, 21 and 10 more with fewer" in warning


@pytest.mark.covers("K13")
def test_raised_digits_are_told_from_what_they_stand_behind(tmp_path):
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(tmp_path / "a.pdf"))
    # As some programs write: the size in the matrix and not in the font.
    for line, (scale, turned) in enumerate([(1, 0), (12, 0), (1, 90)]):
        canvas.saveState()
        canvas.translate(60 + 300 * (line == 2), 700 - 150 * line)
        canvas.rotate(turned)
        canvas.scale(scale, scale)
        text = canvas.beginText(0, 0)
        for words, size, rise in [
            ("The mill takes 10", 12, 0), ("6", 8, 5), (" litres, 10", 12, 0), ("-3", 8, 5), (" of 40 m", 12, 0),
            ("2", 8, 5), (", the gate", 12, 0), ("12", 7, 5), (" has 25", 12, 0), ("1", 8, 0), (" CO", 12, 0),
            ("2", 8, -3), (".", 12, 0),
        ]:  # fmt: skip
            text.setFont("Helvetica", size / scale)
            text.setRise(rise / scale)
            text.textOut(words)
        canvas.drawText(text)
        canvas.restoreState()
    canvas.save()
    lines = [" ".join(line.split()) for line in loaded(tmp_path / "a.pdf").text.split("The mill")[1:]]
    told = "takes 10^6 litres, 10^-3 of 40 m², the gate¹² has 251 CO2."
    assert lines[:2] == [told, told]
    assert "^" not in lines[2]
