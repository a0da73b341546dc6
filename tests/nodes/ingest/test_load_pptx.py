"""Presentations: each slide is a part of its own, cited by its number."""

from __future__ import annotations

import io
import zipfile

import pptx as python_pptx
import pytest
from cited_slices import asked
from document_files import pptx

from groundgraph.core.document import PPTX
from groundgraph.core.errors import IngestError
from groundgraph.ingest.chunkers import HeadingChunker
from groundgraph.ingest.load_document import load_document
from groundgraph.ingest.office import load_pptx

DECK = pptx(
    [("Pumps", ["Pump 17 is red.", "Pump 18 is blue."]), ("", []), ("Prices\vtoday", ["In euros"])],
    rows=[("part", "price"), ("seal", "7")],
    notes="Seals are sold in pairs.",
)


@pytest.mark.covers("B12", "K2", "K14")
def test_titles_texts_tables_and_notes_stand_on_their_slide():
    document = load_pptx(DECK, "deck.pptx")
    assert (document.title, document.media_type) == ("Pumps", PPTX)
    slides = {part.metadata["file_slide"]: document.text[part.start : part.end] for part in document.parts}
    assert slides == {
        1: "Pumps\n\nPump 17 is red.\n\nPump 18 is blue.",
        3: "Prices\ntoday\n\nIn euros\n\n| part | price |\n| seal | 7 |\n\nSeals are sold in pairs.",
    }
    chunks = HeadingChunker()(document)
    assert [chunk.headings for chunk in chunks] == [("Pumps",), ("Prices today",)]
    assert all(document.text[chunk.start : chunk.end] == chunk.text for chunk in chunks)


@pytest.mark.covers("B12")
def test_a_slide_without_a_title_does_not_stand_under_that_of_the_slide_before():
    document = load_pptx(pptx([("Pumps", ["Pump 17 is red."]), ("", ["Doors are locked."])]), "deck.pptx")
    assert [chunk.headings for chunk in HeadingChunker()(document)] == [("Pumps",), ()]


@pytest.mark.covers("B12", "A16")
async def test_a_slide_is_cited_by_its_number(tmp_path):
    (tmp_path / "deck.pptx").write_bytes(DECK)
    [citation, *_] = (await asked(tmp_path, "deck.pptx", "How are seals sold, in pairs?"))["citations"]
    assert citation["quote"].endswith("Seals are sold in pairs.")
    assert citation["location"]["shown"] == "deck.pptx, slide 3"
    assert (citation["start"], citation["encoding"]) == (None, None)


@pytest.mark.covers("B12")
def test_the_presentation_of_the_data_has_its_two_slides(data):
    path = data / "documents/xlsx_pptx_csv/sample_pptx_with_link.pptx"
    document = load_document(path, path.name)
    assert [document.text[part.start : part.end].split("\n\n") for part in document.parts] == [
        ["Slide With Link", "Visit Example for more info."],
        ["Slide Without Links", "Just plain text here."],
    ]


def _with_charts() -> bytes:
    from pptx import Presentation
    from pptx.chart.data import CategoryChartData, XyChartData
    from pptx.enum.chart import XL_CHART_TYPE

    deck = Presentation()
    shapes = deck.slides.add_slide(deck.slide_layouts[5]).shapes
    shapes.title.text = "Trips"
    by_planet, measured = CategoryChartData(), XyChartData()
    by_planet.categories = ["Mars", "Venus"]
    by_planet.add_series("2025", (0, 7))
    by_planet.add_series("2026", (4.5, None))
    chart = shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, 100, 100, by_planet).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "Trips by planet"
    measured.add_series("speed").add_data_point(1.5, 20)
    shapes.add_chart(XL_CHART_TYPE.XY_SCATTER, 0, 0, 100, 100, measured)
    deck.save(saved := io.BytesIO())
    return saved.getvalue()


@pytest.mark.covers("B12")
def test_the_values_of_charts_are_tables_and_those_that_cannot_be_read_are_told():
    data = _with_charts()
    document = load_pptx(data, "a.pptx")
    tables = "|  | 2025 | 2026 |\n| Mars | 0 | 4.5 |\n| Venus | 7 |  |\n\n|  | speed |\n| 1.5 | 20 |"
    assert document.text == f"Trips\n\nTrips by planet\n\n{tables}"
    with zipfile.ZipFile(io.BytesIO(data)) as whole, zipfile.ZipFile(damaged := io.BytesIO(), "w") as kept:
        for entry in whole.infolist():
            text = whole.read(entry)
            kept.writestr(
                entry.filename, text.replace(b"c:plotArea", b"c:plot") if "/charts/c" in entry.filename else text
            )
    document = load_pptx(damaged.getvalue(), "a.pptx")
    assert document.text.startswith("Trips")
    [warning] = document.warnings
    assert warning.startswith("2 charts and diagrams were left out (with words that cannot be read): Chart")


@pytest.mark.covers("B12")
def test_hidden_slides_and_shapes_are_left_out_and_what_cannot_be_read_is_told():
    deck = python_pptx.Presentation(io.BytesIO(DECK))
    deck.slides[0]._element.set("show", "0")
    shapes = deck.slides[2].shapes
    shapes[1]._element._nvXxPr.cNvPr.set("hidden", "1")
    [frame] = (shape for shape in shapes if shape.has_table)
    frame._element.graphic.graphicData.set("uri", "http://schemas.openxmlformats.org/drawingml/2006/diagram")
    deck.save(saved := io.BytesIO())
    document = load_pptx(saved.getvalue(), "a.pptx")
    assert document.text == "Prices\ntoday\n\nSeals are sold in pairs."
    assert [part.metadata for part in document.parts] == [{"file_slide": 3}]
    assert document.warnings == (
        f"1 chart or diagram was left out (with words that cannot be read): {frame.name}",
        "1 slide was left out (hidden): slide 1",
    )


def _without(name: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(DECK)) as whole, zipfile.ZipFile(out, "w") as kept:
        for entry in whole.infolist():
            if entry.filename != name:
                kept.writestr(entry, whole.read(entry))
    return out.getvalue()


@pytest.mark.covers("fault 52")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the file is empty"),
        (b"no zip", "it is no PowerPoint"),
        (b"\xd0\xcf\x11\xe0", "one in the older format"),
        (_without("ppt/presentation.xml"), "it is no readable presentation"),
        (pptx([("", [])]), "it holds no text"),
    ],
)
def test_what_is_no_presentation_is_refused_with_the_reason(data, reason):
    with pytest.raises(IngestError, match=reason):
        load_pptx(data, "a.pptx")


@pytest.mark.covers("K2", "S7")
def test_what_is_raised_or_struck_out_makes_no_other_number(tmp_path):
    presentation = python_pptx.Presentation(io.BytesIO(pptx([("Water", [""])])))
    paragraph = presentation.slides[0].placeholders[1].text_frame.paragraphs[0]
    for text, form in (("10", {}), ("6", {"baseline": "30000"}), (" litres ", {}), ("90", {"strike": "sngStrike"})):
        run = paragraph.add_run()
        run.text = text
        for name, value in form.items():
            run._r.get_or_add_rPr().set(name, value)
    presentation.save(tmp_path / "a.pptx")
    assert load_document(tmp_path / "a.pptx", "a.pptx").text == "Water\n\n10^6 litres"
