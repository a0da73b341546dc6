"""A citation leads to its place: the file, the line, page or row, and offsets that slice it."""

from __future__ import annotations

from pathlib import Path

import pytest
from cited_slices import asked, sliced
from document_files import docx, paragraph, pdf, xlsx

from groundgraph.cli.show_turn import turn_text as terminal_text
from groundgraph.report.turn_page import turn_page, turn_text

MARKDOWN = """# Pumps

Intro of the plant.

## Service

The coolant pump is serviced every ninety days.
Its seals are replaced
once a year by the plant crew.
"""
SERVICE = "How often is the coolant pump serviced?"
PAGES = ["Valves are painted green in this plant.", "The coolant pump is serviced every ninety days."]


def written(folder: Path, kind: str) -> str:
    """Writes the file and gives its name; the answer stands in line 7, on page 2 or in row 3."""
    if kind == "pdf":
        pdf(folder / "report.pdf", PAGES)
        return "report.pdf"
    if kind == "docx":
        body = paragraph("The coolant pump is serviced every ninety days.")
        (folder / "manual.docx").write_bytes(docx(body))
        return "manual.docx"
    if kind == "csv":
        (folder / "parts.csv").write_bytes(
            b"\xef\xbb\xbfpart,note\r\nvalve,painted green\r\ncoolant pump,serviced every ninety days\r\n"
        )
        return "parts.csv"
    if kind == "xlsx":
        rows = [["part", "note"], ["valve", "painted green"], ["coolant pump", "serviced every ninety days"]]
        (folder / "parts.xlsx").write_bytes(xlsx({"Stock": rows}))
        return "parts.xlsx"
    if kind == "jsonl":
        (folder / "facts.jsonl").write_text(
            '{"a": "green valve"}\n\n{"a": "The coolant pump is serviced every 90 days."}\n'
        )
        return "facts.jsonl"
    ends = {"crlf": "\r\n", "cr": "\r"}.get(kind, "\n")
    text = MARKDOWN.replace("\n", ends)
    if kind == "mixed":
        text = MARKDOWN.replace("\n", "\r\n", 3)
    encoding = {"bom": "utf-8-sig", "utf16": "utf-16"}.get(kind, "utf-8")
    (folder / "docs").mkdir()
    (folder / "docs" / "pumps.md").write_bytes(text.encode(encoding))
    return "docs/pumps.md"


PLACES = {
    "plain": ({"file": "docs/pumps.md", "line": 7, "shown": "docs/pumps.md:7"}, "utf-8"),
    "bom": ({"file": "docs/pumps.md", "line": 7, "shown": "docs/pumps.md:7"}, "utf-8-sig"),
    "utf16": ({"file": "docs/pumps.md", "line": 7, "shown": "docs/pumps.md:7"}, "utf-16"),
    "crlf": ({"file": "docs/pumps.md", "line": 7, "shown": "docs/pumps.md:7"}, "utf-8"),
    "cr": ({"file": "docs/pumps.md", "line": 7, "shown": "docs/pumps.md:7"}, "utf-8"),
    "mixed": ({"file": "docs/pumps.md", "line": 7, "shown": "docs/pumps.md:7"}, "utf-8"),
    "pdf": ({"file": "report.pdf", "page": 2, "shown": "report.pdf, page 2"}, None),
    "docx": ({"file": "manual.docx", "shown": "manual.docx"}, None),
    "csv": ({"file": "parts.csv", "line": 3, "row": 3, "shown": "parts.csv, row 3"}, None),
    "xlsx": ({"file": "parts.xlsx", "sheet": "Stock", "row": 3, "shown": "parts.xlsx, sheet Stock, row 3"}, None),
    "jsonl": ({"file": "facts.jsonl", "line": 3, "shown": "facts.jsonl:3"}, None),
}


@pytest.mark.covers("A16", "A17", "A19")
@pytest.mark.parametrize("kind", PLACES)
async def test_a_citation_says_where_its_quote_stands_and_slices_to_it(tmp_path, kind):
    output = await asked(tmp_path, written(tmp_path, kind), SERVICE)
    best, *others = output["citations"]
    location, encoding = PLACES[kind]
    assert (best["location"], best["encoding"]) == (location, encoding)
    for citation in [best, *others]:
        assert sliced(tmp_path, citation) in (citation["quote"], None)
        assert (citation["start"] is None) is (kind in ("docx", "csv", "xlsx", "jsonl"))
    shown = location["shown"]
    assert f"[1] knowledge_base: {shown}" in terminal_text(output, 0.01)
    page, text = turn_page(output["provenance"]), turn_text(output["provenance"])
    for told in (page, text):
        assert shown in told
        assert ("of the original" in told) is (encoding is not None)
        assert ("of page 2" in told) is (kind == "pdf")
    assert ">The coolant pump" in page or kind in ("csv", "xlsx", "jsonl")


@pytest.mark.covers("A19")
@pytest.mark.parametrize("kind", ["crlf", "cr", "mixed", "utf16"])
async def test_a_quote_over_two_lines_has_the_line_ends_of_the_file(tmp_path, kind):
    output = await asked(tmp_path, written(tmp_path, kind), "Who has its seals replaced once a year?")
    [citation] = output["citations"]
    assert citation["location"]["line"] == 7
    assert citation["quote"].split() == MARKDOWN.partition("## Service")[2].split()
    assert sliced(tmp_path, citation) == citation["quote"]
    assert ("\r" in citation["quote"]) is (kind in ("crlf", "cr"))
    assert '<mark id="q1"' in turn_page(output["provenance"])


async def test_a_file_with_line_ends_by_chance_has_no_offsets_but_a_line(tmp_path):
    (tmp_path / "docs").mkdir()
    text = "Odd line of filler.\r\nEven line of filler.\n" * 100
    (tmp_path / "docs" / "pumps.md").write_bytes(f"{text}\n\n# Pumps\n\nThe coolant pump is serviced daily.\n".encode())
    output = await asked(tmp_path, "docs/pumps.md", SERVICE)
    citation = output["citations"][0]
    assert (citation["start"], citation["location"]["shown"]) == (None, "docs/pumps.md:205")


async def test_the_words_of_a_place_are_of_the_language_of_the_question(tmp_path):
    pdf(tmp_path / "report.pdf", PAGES)
    output = await asked(tmp_path, "report.pdf", "Как часто надо обслуживать насос, то есть the coolant pump?")
    assert output["citations"][0]["location"]["shown"] == "report.pdf, стр. 2"


async def test_the_page_of_a_turn_shows_every_quote_of_a_passage_with_its_place(tmp_path):
    text = "# Pumps\n\nThe coolant pump is serviced daily.\n\nValves are green.\n\nA coolant pump costs less.\n"
    (tmp_path / "pumps.md").write_text(text)
    output = await asked(tmp_path, "pumps.md", "Is the coolant pump serviced?")
    assert [citation["label"] for citation in output["citations"]] == [1, 1]
    page = turn_page(output["provenance"])
    assert page.count('<blockquote class="quote"') == 2
    for place in ("pumps.md:3", "pumps.md:7"):
        assert page.count(f'<p class="where"><bdi>{place};') == 1
