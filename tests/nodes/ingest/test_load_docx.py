"""Word documents (K2)."""

from __future__ import annotations

import pytest
from document_files import W, docx, paragraph, table

from groundgraph.core.document import MARKDOWN
from groundgraph.core.errors import IngestError
from groundgraph.ingest.chunkers import HeadingChunker
from groundgraph.ingest.load_document import load_document
from groundgraph.ingest.office import load_docx

pytestmark = pytest.mark.covers("K2")


def test_headings_paragraphs_and_tables_become_markdown():
    body = (
        paragraph("Manual", "Title") + paragraph("Service", "Heading1") + paragraph("Every 90 days.")
        + paragraph("Parts", "Heading2") + table(("Part", "Days"), ("Seal", "90"))
    )  # fmt: skip
    document = load_docx(docx(body), "a.docx")
    assert document.text == (
        "# Manual\n\n# Service\n\nEvery 90 days.\n\n## Parts\n\n| Part | Days |\n|---|---|\n| Seal | 90 |\n"
    )
    assert (document.title, document.media_type, document.warnings) == ("Manual", MARKDOWN, ())
    assert [chunk.headings for chunk in HeadingChunker()(document)] == [("Manual",), ("Service",), ("Service", "Parts")]


@pytest.mark.parametrize(("style", "title"), [("Title", "Manual"), ("Heading1", "a")])
def test_the_title_of_a_document_is_its_style_or_its_only_heading(style, title):
    sections = "".join(paragraph(name, "Heading1") + paragraph("Every 90 days.") for name in ("Service", "Parts"))
    body = paragraph("Manual", style) + paragraph("By the house.") + sections
    assert load_docx(docx(body), "a.docx").title == title


@pytest.mark.parametrize("kind", ["", ' w:type="page"', ' w:type="column"'])
def test_words_before_and_behind_a_break_stay_two(kind):
    body = f"<w:p><w:r><w:t>Oil it.</w:t><w:br{kind}/><w:t>Pump 17</w:t></w:r></w:p><w:p><w:r><w:br{kind}/></w:r></w:p>"
    assert load_docx(docx(body), "a.docx").text == "Oil it.\nPump 17\n"


def test_the_words_of_fields_and_a_sign_for_formulas_stay_in_their_sentence():
    math = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    formula = f"<m:oMath {math}><m:r><m:t>E=mc</m:t></m:r></m:oMath>"
    run = "<w:r><w:t>{}</w:t></w:r>"
    caption = run.format("Table ") + f'<w:fldSimple w:instr="SEQ Table">{run.format("1")}</w:fldSimple>'
    body = (
        f"<w:p>{caption}{run.format(': parts')}</w:p><w:p>{run.format('As ')}{formula}{run.format(' says.')}</w:p>"
        f"<w:p><m:oMathPara {math}>{formula}</m:oMathPara></w:p>"
        "<w:p><w:r><w:t>Oil it.</w:t><w:cr/><w:t>Daily.</w:t></w:r></w:p>"
    )
    document = load_docx(docx(body), "a.docx")
    assert document.text == "Table 1: parts\n\nAs [formula] says.\n\n[formula]\n\nOil it.\nDaily.\n"
    assert document.warnings == ("formulas cannot be read, [formula] stands for each",)


def test_hidden_text_is_left_out_and_told():
    hidden = "<w:p><w:r><w:rPr><w:vanish{}/></w:rPr><w:t>{}</w:t></w:r><w:r><w:t>It is red.</w:t></w:r></w:p>"
    body = hidden.format("", "Secret. ") + hidden.format(' w:val="0"', "Shown. ")
    document = load_docx(docx(body), "a.docx")
    assert document.text == "It is red.\n\nShown. It is red.\n"
    assert document.warnings == ("hidden text was left out",)


def test_what_a_style_hides_is_hidden_text_too():
    style = '<w:style w:type="character" w:styleId="{}"><w:basedOn w:val="{}"/><w:rPr>{}</w:rPr></w:style>'
    hiding = style.format("Notes", "", "<w:vanish/>") + style.format("Own", "Notes", "") + style.format("A", "A", "")
    run = '<w:r><w:rPr><w:rStyle w:val="{}"/>{}</w:rPr><w:t>{} </w:t></w:r>'
    runs = (
        run.format("Own", "", "Secret.")
        + run.format("Own", '<w:vanish w:val="0"/>', "Shown.")
        + run.format("A", "", "So.")
    )
    body = f"{paragraph('Secret, too.', 'Notes')}<w:p>{runs}</w:p>"
    styles = f'<w:styles xmlns:w="{W}">{hiding}</w:styles>'.encode()
    document = load_docx(docx(body, **{"word/styles.xml": styles}), "a.docx")
    assert (document.text, document.warnings) == ("Shown. So.\n", ("hidden text was left out",))


def test_items_of_a_list_have_no_numbers_that_word_does_not_show():
    item = (
        '<w:p><w:pPr><w:numPr><w:ilvl w:val="{}"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>{}</w:t></w:r></w:p>'
    )
    body = item.format(0, "Open") + item.format(1, "Wide") + paragraph("Wait.") + item.format(0, "The second")
    level = '<w:lvl w:ilvl="{}"><w:numFmt w:val="decimal"/></w:lvl>'
    numbering = (
        f'<w:numbering xmlns:w="{W}"><w:abstractNum w:abstractNumId="0">{level.format(0)}{level.format(1)}'
        '</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>'
    )
    document = load_docx(docx(body, **{"word/numbering.xml": numbering.encode()}), "a.docx")
    assert document.text == "- Open\n  - Wide\n\nWait.\n\n- The second\n"


def test_every_document_of_the_data_is_read(data):
    texts = {path.name: load_document(path, path.name) for path in sorted((data / "documents/docx").glob("*.docx"))}
    assert len(texts) == 5
    assert texts["sample_docx.docx"].title == "Sample Docx File"
    assert "| Finance | Fraud detection and prevention | Reduced financial losses |" in texts["sample_docx_3.docx"].text
    linked = texts["sample_docx_with_links.docx"].text
    assert "own PostScript format. PDF was a proprietary format" in linked
    assert not any("http" in line and "](" in line for line in linked.split("\n"))


def test_what_a_document_holds_beyond_text_is_reported():
    body = paragraph("Before") + "<w:p><w:ruby/><w:r><w:t>after</w:t></w:r></w:p>"
    document = load_docx(docx(body), "a.docx")
    assert document.warnings == ("elements of unknown kinds were left out: ruby",)
    assert document.text == "Before\n\nafter\n"


@pytest.mark.covers("fault 52")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b"plain text", "no zip archive"),
        (b"\xd0\xcf\x11\xe0" + b"x" * 600, "older format, or encrypted"),
        (docx("")[:400], "no zip archive"),
        (docx(""), "it holds no text"),
        (docx("<w:p>"), "no readable Word document"),
        (docx("<w:p>" * 3000 + "</w:p>" * 3000), "it holds no text|no readable Word document"),
    ],
)
def test_what_is_no_readable_document_is_refused(data, reason):
    with pytest.raises(IngestError, match=reason):
        load_docx(data, "a.docx")


@pytest.mark.covers("fault 63")
def test_a_document_type_is_refused_before_its_entities_grow():
    data = docx(paragraph("text"), **{"word/extra.xml": b'<!DOCTYPE x [<!ENTITY a "aaaa">]><x>&a;</x>'})
    with pytest.raises(IngestError, match=r"'word/extra.xml' in it declares a document type"):
        load_docx(data, "a.docx")


def test_a_document_larger_than_memory_bears_is_refused(monkeypatch):
    monkeypatch.setattr("groundgraph.ingest.office.MAX_TREE", 5000)
    with pytest.raises(IngestError, match=r"document.xml' in it has more than"):
        load_docx(docx(paragraph("text " * 1000)), "a.docx")
