"""Ruled tables of PDFs as records, with the page and the row of each."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from groundgraph import load_settings, turn_graph
from groundgraph.core.document import Document
from groundgraph.graph.ingest import ingest_graph, run_ingest
from groundgraph.ingest.chunkers import HeadingChunker
from groundgraph.ingest.load_document import load_document, read_document
from groundgraph.ingest.pdf_tables import pdf_tables, with_tables
from groundgraph.nodes.ingest import load_documents

pytestmark = pytest.mark.covers("A13")

PARTS = [["part", "stock", "shelf"], *([f"seal S{number}", str(number), "A"] for number in range(60))]


def _file(path: Path, *tables: list[list[str]], style: tuple = (), repeat: int = 0) -> Path:
    from reportlab.platypus import Paragraph, SimpleDocTemplate, Table

    grid = [("GRID", (0, 0), (-1, -1), 1, "black"), *style]
    made = [Table(rows, style=grid, repeatRows=repeat, hAlign="LEFT") for rows in tables]
    SimpleDocTemplate(str(path)).build([Paragraph("Stock of the store, counted every spring."), *made])
    return path


def _rows(path: Path) -> list[dict]:
    return _metadata(pdf_tables(path, path.name))


def _metadata(found: Document | None) -> list[dict]:
    return [part.metadata for part in found.parts] if found else []


@pytest.mark.covers("B12", "K14")
@pytest.mark.parametrize("repeat", [0, 1])
def test_a_table_that_goes_on_over_the_page_keeps_its_fields_and_counts_rows_by_page(tmp_path, repeat):
    rows = _rows(_file(tmp_path / "a.pdf", PARTS, repeat=repeat))
    assert [[row["part"], row["stock"], row["shelf"]] for row in rows] == PARTS[1:]
    assert (rows[0]["page"], rows[0]["file_row"], rows[-1]["page"]) == (1, 2, 2)
    on_second = [row["file_row"] for row in rows if row["page"] == 2]
    assert on_second == list(range(1 + repeat, len(on_second) + 1 + repeat))


def test_another_table_in_the_same_place_of_the_next_page_is_not_read_under_the_fields_of_the_first(tmp_path):
    from reportlab.platypus import PageBreak, SimpleDocTemplate, Table

    pages = ([["part", "stock"], ["seal", "3"]], [["name", "phone"], ["Ada", "555"]])
    grid = [("GRID", (0, 0), (-1, -1), 1, "black")]
    made = [Table(rows, colWidths=[90, 90], style=grid) for rows in pages]
    SimpleDocTemplate(str(tmp_path / "a.pdf")).build([made[0], PageBreak(), made[1]])
    assert [(row["part"], row["stock"]) for row in _rows(tmp_path / "a.pdf")] == [("seal", "3")]


@pytest.mark.parametrize(
    ("table", "style"),
    [
        ([["Name", "Pump 17"], ["Colour", "red"], ["Hall", "C"]], ()),
        ([["1", "2", "3"], ["a", "b", "c"]], ()),
        ([["a", "a", "b"], ["1", "2", "3"]], ()),
        ([["part", "stock", "shelf"], ["seal\nring", "7\n8", "A\nB"]], ()),
        ([["part", "stock", "shelf"], ["all of them", "", "A"]], (("SPAN", (0, 1), (1, 1)),)),
        ([["part", "stock", "shelf"]], ()),
    ],
    ids=["name and value", "no names", "one name twice", "rows without a line between", "spanned", "no rows"],
)
def test_what_may_have_been_read_wrongly_is_no_record(tmp_path, table, style):
    assert _rows(_file(tmp_path / "a.pdf", table, style=style)) == []


@pytest.mark.slow
def test_the_tables_of_the_data_are_rows_or_nothing(data):
    folder = data / "documents/pdf"
    tables = {path.name: pdf_tables(path, path.name) for path in sorted(folder.glob("*.pdf"))}
    rows = {name: _metadata(found) for name, found in tables.items()}
    counts = {name: len(found) for name, found in rows.items() if found}
    assert counts == {"ca-warn-report.pdf": 633, "haystack_sample_pdf_1.pdf": 4, "word365_structure.pdf": 2}
    first = rows["ca-warn-report.pdf"][0]
    assert (first["Effective"], first["Company"], first["No. Of"]) == ("03/25/2016", "Maxim Integrated Product", "150")
    path = folder / "ca-warn-report.pdf"
    document = load_document(path, path.name)
    whole = with_tables(document, tables[path.name])
    chunks = HeadingChunker()(whole)
    assert all(whole.text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    # Every value stands on its page as it was read there.
    pages = {part.metadata["page"]: document.text[part.start : part.end].split() for part in document.parts}
    for row in rows["ca-warn-report.pdf"]:
        assert set(row["Company"].split()) <= set(pages[row["page"]])


async def _answer(folder: Path, question: str) -> dict:
    settings = load_settings({"knowledge_base": {"file": str(folder / "kb.sqlite")}})
    report = await run_ingest(ingest_graph(settings), {"paths": [str(folder / "stock.pdf")]})
    graph = turn_graph(settings)
    try:
        return {**await graph.ainvoke({"messages": [HumanMessage(question)]}), "report": report}
    finally:
        await graph.resources.close()


@pytest.mark.covers("A16")
async def test_a_row_is_cited_by_page_and_row_without_offsets(tmp_path):
    _file(tmp_path / "stock.pdf", PARTS)
    output = await _answer(tmp_path, "What is the stock of seal S57?")
    places = {citation["location"]["shown"].rpartition("/")[2]: citation for citation in output["citations"]}
    [row] = [citation for shown, citation in places.items() if shown.startswith("stock.pdf, page 2, row ")]
    assert "seal S57" in row["quote"]
    assert (row["start"], row["end"]) == (None, None)


@pytest.mark.covers("F1")
async def test_a_pdf_whose_tables_cannot_be_read_is_taken_in_without_them(tmp_path, monkeypatch):
    _file(tmp_path / "stock.pdf", PARTS)
    monkeypatch.setattr(load_documents, "pdf_tables", os.abort)
    output = await _answer(tmp_path, "What is counted every spring?")
    assert "counted every spring" in output["citations"][0]["quote"]
    assert "its tables were not taken in" in output["report"].warnings[0]["reason"]


@pytest.mark.covers("K2")
async def test_only_a_pdf_with_ruled_pages_is_looked_through_for_tables(tmp_path, monkeypatch):
    _file(tmp_path / "plain.pdf")
    assert not read_document(tmp_path / "plain.pdf", "plain.pdf")[1]
    assert read_document(_file(tmp_path / "ruled.pdf", PARTS), "ruled.pdf")[1]
    monkeypatch.setattr(load_documents, "pdf_tables", os.abort)
    settings = load_settings({"knowledge_base": {"file": str(tmp_path / "base.sqlite")}})
    report = await run_ingest(ingest_graph(settings), {"paths": [str(tmp_path / "plain.pdf")]})
    assert (report.written, report.warnings) == (1, [])
