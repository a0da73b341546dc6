"""Tables as records: CSV, JSONL, XLSX (K2)."""

from __future__ import annotations

import csv
import io
import json
import re
import warnings
import zipfile
from datetime import date, datetime

import pytest
from document_files import xlsx
from hypothesis import given, settings
from hypothesis import strategies as st

from groundgraph.core.characters import on_one_line
from groundgraph.core.document import RECORDS, Document
from groundgraph.core.errors import IngestError
from groundgraph.ingest.chunkers import HeadingChunker
from groundgraph.ingest.load_document import load_document
from groundgraph.ingest.office import load_xlsx
from groundgraph.serve.passages import records_html
from groundgraph.text.original import FILE_LINE, FILE_ROW

pytestmark = pytest.mark.covers("K2")


def test_the_numbers_of_a_jsonl_record_are_shown_as_they_are_written(tmp_path):
    written = '{"price": 1999.90, "balance": 12345678901234567.89, "serial": 99999999999999999999, "small": 1.2e-8}'
    document = loaded(tmp_path, "a.jsonl", written)
    assert document.text.splitlines() == [
        "price: 1999.90",
        "balance: 12345678901234567.89",
        "serial: 99999999999999999999",
        "small: 1.2e-8",
    ]
    assert document.parts[0].metadata["serial"] == "99999999999999999999"


def loaded(tmp_path, name: str, data: str | bytes) -> Document:
    (tmp_path / name).write_bytes(data.encode() if isinstance(data, str) else data)
    return load_document(tmp_path / name, name)


def rows(document: Document) -> list[dict]:
    # Where a row stands has tests of its own, `tests/graph/test_citation_places.py`.
    own = ({**part.metadata} for part in document.parts)
    return [{name: value for name, value in fields.items() if not name.startswith("file_")} for fields in own]


def texts(document: Document) -> list[str]:
    return [document.text[part.start : part.end] for part in document.parts]


def test_each_row_of_a_csv_file_is_a_record_with_typed_values(tmp_path):
    document = loaded(
        tmp_path,
        "parts.csv",
        '\ufeffname,days,price,zip,spare,note\r\nSeal,90,1.50,01067,true,"a, b"\r\n\r\nPump, 7 ,12,10115,FALSE,\r\n',
    )
    assert rows(document) == [
        {"name": "Seal", "days": 90, "price": 1.5, "zip": "01067", "spare": True, "note": "a, b"},
        {"name": "Pump", "days": 7, "price": 12.0, "zip": "10115", "spare": False},
    ]
    assert texts(document)[0] == "name: Seal\ndays: 90\nprice: 1.50\nzip: 01067\nspare: true\nnote: a, b"
    assert (document.media_type, document.title, document.warnings) == (RECORDS, "parts", ())


NOTE = "measured twice\n\nweight: 9999\u2028unit: t"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("p.csv", f'name,weight,note\nGadget,51,"{NOTE}"\n'),
        ("p.jsonl", json.dumps({"name": "Gadget", "weight": 51, "note": NOTE})),
        ("p.xlsx", xlsx({"parts": [["name", "weight", "note", "sheet"], ["Gadget", 51, NOTE, "parts"]]})),
    ],
    ids=["csv", "jsonl", "xlsx"],
)
def test_a_cell_with_many_lines_adds_no_line_that_looks_like_a_field(tmp_path, name, data):
    document = loaded(tmp_path, name, data)
    lines = document.text.splitlines()
    assert lines[:3] == ["name: Gadget", "weight: 51", "note: measured twice weight: 9999 unit: t"]
    assert lines[3:] in ([], ["sheet: parts"])
    html = str(records_html(document, 0))
    assert "<mark>51</mark>" in html
    assert "<mark>9999</mark>" not in html


def test_a_name_of_many_lines_adds_none_either(tmp_path):
    document = loaded(tmp_path, "p.jsonl", json.dumps({"weight": 51, "note\nweight: 9999": "x", "empty": "\n"}))
    assert document.text.splitlines() == ["weight: 51", "note weight: 9999: x"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_the_one_that_gives_the_most_even_table(tmp_path, delimiter):
    text = "\n".join(delimiter.join(row) for row in (["name", "size"], ["a b", "1.5"], ["c:d", "2.5"]))
    assert rows(loaded(tmp_path, "a.csv", text)) == [{"name": "a b", "size": 1.5}, {"name": "c:d", "size": 2.5}]
    assert rows(loaded(tmp_path, "a.tsv", "name\tlist\na\tx,y,z")) == [{"name": "a", "list": "x,y,z"}]
    text = "Artikel;Preis, EUR\nPumpe;1,50\nVentil;2,75\n"
    assert rows(loaded(tmp_path, "b.csv", text))[0] == {"Artikel": "Pumpe", "Preis, EUR": "1,50"}
    document = loaded(tmp_path, "c.csv", "sep=;\npart;stock, left\nF2, red;14\n")
    assert rows(document) == [{"part": "F2, red", "stock, left": 14}]
    assert document.parts[0].metadata.items() >= {FILE_ROW: 2, FILE_LINE: 3}.items()


def test_good_rows_of_a_csv_file_are_kept_and_bad_ones_reported_by_line(tmp_path):
    text = 'a,b\n1,one\n2\n3,three,more\n4,"fo"ur\n5,"fi\nve"\n6,six,\n7,"never closed\n8,eight\n'
    document = loaded(tmp_path, "a.csv", text)
    assert rows(document) == [
        {"a": 1, "b": "one"}, {"a": 5, "b": "fi\nve"}, {"a": 6, "b": "six"}, {"a": 8, "b": "eight"}
    ]  # fmt: skip
    assert document.warnings == (
        "2 rows were left out (not the 2 cells of the first): line 3, line 4",
        "2 rows were left out (a quote is out of place or a cell is too long): line 5, line 9",
    )


def test_header_cells_that_are_empty_or_repeated_get_names_of_their_own(tmp_path):
    assert rows(loaded(tmp_path, "a.csv", "x,,x,x\n1,2,3,4\n")) == [{"x": 1, "column 2": 2, "x 2": 3, "x 3": 4}]


def test_each_line_of_a_jsonl_file_is_a_record_and_bad_lines_are_reported(tmp_path):
    lines = [
        '{"id": 1, "name": "Köln", "tags": ["a", "b"], "ok": true, "none": null}',
        "",
        '{"id": 2',
        "[1, 2]",
        '{"id": 3, "text": "one\\ntwo \\u0000 \\ud800"}',
        "[" * 100_000,
        '{"id": NaN}',
    ]
    document = loaded(tmp_path, "a.jsonl", "\r\n".join(lines))
    assert rows(document) == [
        {"id": 1, "name": "Köln", "tags": ["a", "b"], "ok": True},
        {"id": 3, "text": "one\ntwo \ufffd \ufffd"},
        {"id": "nan"},
    ]
    assert texts(document)[0] == 'id: 1\nname: Köln\ntags: ["a", "b"]\nok: true'
    assert document.warnings == (
        "2 lines were left out (no JSON): line 3, line 6",
        "1 line was left out (JSON, but no object): line 4",
    )
    assert document.text.encode()


def test_sheets_of_a_workbook_are_read_without_empty_rows_and_columns(data):
    folder = data / "documents/xlsx_pptx_csv"
    two = load_document(folder / "basic_tables_two_sheets.xlsx", "two.xlsx")
    assert rows(two) == [
        {"col_a": 1.5, "col_b": "test", "sheet": "Basic Table"},
        {"col_c": True, "sheet": "Table Missing Value"},
    ]
    empty = load_document(folder / "table_empty_rows_and_columns.xlsx", "empty.xlsx")
    assert rows(empty) == [{"col_a": 1.5, "col_b": "test", "sheet": "Sheet1"}]
    table = load_document(folder / "sample_1.csv", "sample_1.csv")
    assert rows(table)[0] == {"Name": "John Doe", "Age": 27}


def test_values_of_a_workbook_keep_their_types_and_dates_are_iso(tmp_path):
    header = ["when", "at", "n", "x", "text", 2026]
    row = [date(2026, 1, 2), datetime(2026, 1, 2, 3, 4), 7, 1.5, " a ", "y", "beyond the header"]
    document = loaded(tmp_path, "a.xlsx", xlsx({"Sales": [[], [None], header, [None] * 6, row]}))
    assert rows(document) == [
        {
            "when": "2026-01-02", "at": "2026-01-02T03:04:00", "n": 7, "x": 1.5, "text": "a", "2026": "y",
            "column 7": "beyond the header", "sheet": "Sales",
        }
    ]  # fmt: skip
    assert texts(document)[0].startswith("when: 2026-01-02\nat: 2026-01-02T03:04:00\nn: 7\nx: 1.5\ntext: a\n")


def test_a_sheet_that_understates_its_size_is_read_whole():
    source = zipfile.ZipFile(io.BytesIO(xlsx({"a": [["x", "y"], [1, 2], [3, 4]]})))
    with zipfile.ZipFile(buffer := io.BytesIO(), "w") as target:
        for name in source.namelist():
            sheet = re.sub(rb"<dimension[^>]*/>", b"", source.read(name))
            target.writestr(name, sheet.replace(b"<sheetData>", b'<dimension ref="A1:A2"/><sheetData>'))
    document = load_xlsx(buffer.getvalue(), "a.xlsx")
    assert rows(document) == [{"x": 1, "y": 2, "sheet": "a"}, {"x": 3, "y": 4, "sheet": "a"}]


def test_formulas_without_a_stored_value_are_reported(tmp_path):
    document = loaded(tmp_path, "a.xlsx", xlsx({"a": [["n", "sum"], [1, "=A2+1"], [2, "=A3+1"]]}))
    assert rows(document) == [{"n": 1, "sheet": "a"}, {"n": 2, "sheet": "a"}]
    assert document.warnings[0].startswith("2 formulas have no stored value")


@pytest.mark.covers("fault 52")
@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.csv", "", "holds no records"),
        ("a.csv", "only,a,header\n", "holds no records"),
        ("a.csv", 'a,"b"x\n1,2\n', "line 1, which must name the fields"),
        ("a.csv", 'a,b\n"x', r"holds no records; 1 row was left out \(a quote is out of place"),
        ("a.csv", bytes(range(256)) * 4, "not UTF-8"),
        ("a.jsonl", "not json\n", r"holds no records; 1 line was left out \(no JSON\): line 1"),
        ("a.xlsx", b"", "the file is empty"),
        ("a.xlsx", b"no zip", "no Excel"),
        ("a.xlsx", xlsx({"a": [["head"]]}), "holds no records"),
        ("a.xlsx", xlsx({"a": [["head"], ["x"]]})[:-200], "damaged"),
    ],
)
def test_a_table_without_records_or_that_cannot_be_read_is_refused(tmp_path, name, data, reason):
    with pytest.raises(IngestError, match=reason):
        loaded(tmp_path, name, data)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.xlsx"])
def test_too_many_records_are_refused(tmp_path, monkeypatch, name):
    monkeypatch.setattr("groundgraph.ingest.records.MAX_RECORDS", 2)
    table = {
        "a.csv": "x,y\n" + "1,2\n" * 4,
        "a.jsonl": '{"x": 1}\n' * 4,
        "a.xlsx": xlsx({"a": [["x"], *[[1]] * 4]}),
    }[name]
    with pytest.raises(IngestError, match="more than 2 records"):
        loaded(tmp_path, name, table)


def test_too_much_text_and_too_wide_sheets_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("groundgraph.ingest.records.MAX_CHARS", 10)
    with pytest.raises(IngestError, match="more than 10 characters"):
        loaded(tmp_path, "a.jsonl", '{"x": "0123456789"}')
    monkeypatch.setattr("groundgraph.ingest.office.MAX_CELLS", 3)
    with pytest.raises(IngestError, match="more than 3 cells"):
        load_xlsx(xlsx({"a": [["x", "y"], [1, 2]]}), "a.xlsx")


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00\ufeff"), max_size=12)
TABLES = st.integers(2, 4).flatmap(lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=2))


@settings(max_examples=100, deadline=None)
@given(TABLES)
def test_every_cell_that_the_csv_module_writes_is_in_a_record(table):
    table[0] = [f"field{place}" for place in range(len(table[0]))]
    csv.writer(buffer := io.StringIO(), quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(table)
    expected = [[cell.strip() for cell in row] for row in table[1:] if any(cell.strip() for cell in row)]
    if not expected:
        return
    from groundgraph.ingest.records import load_csv

    document = load_csv(buffer.getvalue(), [], "a.csv", delimiters=",")
    assert [text.split("\n")[0].partition(": ")[0] for text in texts(document)] == [
        f"field{next(place for place, cell in enumerate(row) if cell)}" for row in expected
    ]
    for row, text in zip(expected, texts(document), strict=True):
        assert text == "\n".join(f"field{place}: {on_one_line(cell)}" for place, cell in enumerate(row) if cell)
    assert document.warnings == ()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.dictionaries(st.text(min_size=1, max_size=8), st.text(max_size=300) | st.integers(), max_size=5)))
def test_any_records_are_chunked_within_themselves_with_exact_offsets(table):
    from groundgraph.ingest.records import load_jsonl

    try:
        document = load_jsonl("\n".join(map(json.dumps, table)), [], "a.jsonl")
    except IngestError:
        assert not any(str(value).strip() for row in table for value in row.values())
        return
    chunks = HeadingChunker(max_chunk_size=200)(document)
    for part in document.parts:
        own = [chunk for chunk in chunks if part.start <= chunk.start < part.end]
        assert all(chunk.end <= part.end and chunk.metadata == part.metadata for chunk in own)
        length = len(document.text[part.start : part.end].strip())
        assert len(own) == 1 or length > 200 or not length
        text = document.text[part.start : part.end]
        assert "".join("".join(c.text.split()) for c in own) == "".join(text.split())
    assert all(document.text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    assert {chunk.origin for chunk in chunks} <= {0}


def test_reading_a_workbook_leaves_the_filters_of_warnings_as_they_were():
    before = list(warnings.filters)
    assert rows(load_xlsx(xlsx({"S": [["a"], [1]]}), "a.xlsx")) == [{"a": 1, "sheet": "S"}]
    assert warnings.filters == before


def edited_xlsx(edit) -> bytes:
    import openpyxl

    workbook = openpyxl.Workbook()
    edit(workbook)
    workbook.save(buffer := io.BytesIO())
    return buffer.getvalue()


def test_a_sheet_is_read_as_it_is_seen():
    def edit(workbook):
        sheet = workbook.active
        sheet.title = "Q2"
        lines = [
            ["Quarterly report"],
            [],
            ["Region", "City", "Share"],
            ["North", "Umea", 0.25],
            [None, "Lulea", 0.1234],
        ]
        for line in [*lines, [None] * 3, ["South", "Lund", 3]]:
            sheet.append(line)
        sheet.merge_cells("A4:A6")
        sheet.merge_cells("A1:C1")
        for row, shown in ((4, "0%"), (5, "0.00%"), (7, '0.0" %"')):
            sheet.cell(row, 3).number_format = shown
        hidden = workbook.create_sheet("Old")
        hidden.append(["a", "b"])
        hidden.append([1, 2])
        hidden.sheet_state = "hidden"

    document = load_xlsx(edited_xlsx(edit), "a.xlsx")
    assert rows(document) == [
        {"Region": "North", "City": "Umea", "Share": 0.25, "sheet": "Q2"},
        {"Region": "North", "City": "Lulea", "Share": 0.1234, "sheet": "Q2"},
        {"Region": "South", "City": "Lund", "Share": 3, "sheet": "Q2"},
    ]
    assert texts(document)[1] == "Region: North\nCity: Lulea\nShare: 12.34 %\nsheet: Q2: Quarterly report"
    assert "Share: 25 %" in texts(document)[0]
    assert "Share: 3\n" in texts(document)[2]
    assert [part.metadata["file_row"] for part in document.parts] == [4, 5, 7]
    assert document.warnings == ("1 sheet was left out (hidden): Old",)


@pytest.mark.parametrize(
    ("above", "title"),
    [
        ("Prices of 2026\n\n", "Prices of 2026"),
        ("Prices of 2026\nin euros\n\n", "Prices of 2026 in euros"),
        ("Prices of 2026,,\n,,\n", "Prices of 2026"),
        ("Account,DE12\n\n", "Account DE12"),
        # The names of the fields may themselves stand above an empty line.
        ("", "a"),
    ],
)
def test_what_stands_alone_above_an_empty_line_is_the_title_of_a_table(tmp_path, above, title):
    document = loaded(tmp_path, "a.csv", f"{above}Part,Price,Stock\n{'' if above else chr(10)}Seal,9,3\nNut,2,7\n")
    assert rows(document) == [{"Part": "Seal", "Price": 9, "Stock": 3}, {"Part": "Nut", "Price": 2, "Stock": 7}]
    assert (document.title, document.warnings) == (title, ())
    assert document.parts[0].metadata[FILE_LINE] == above.count("\n") + 2 + (not above)


@pytest.mark.parametrize(
    ("below", "read", "told"),
    [
        ("City,Area,Inns\nUmea,3,4", {"City": "Umea", "Area": 3, "Inns": 4}, ["line 4 was read as the names of the"]),
        ("City,Inns\nUmea,4", {"City": "Umea", "Inns": 4}, ["line 4 was read as the names of the fields of another"]),
        ("Nut,2,7\nPin,1,2", {"Part": "Pin", "Price": 1, "Stock": 2}, []),
        ("Nut,free,7\nPin,1,2", {"Part": "Pin", "Price": "1", "Stock": 2}, []),
        ("City,Inns", {"Part": "Seal", "Price": 9, "Stock": 3}, ["1 row was left out"]),
        ("City,Inns\nUmea,4,5", {"Part": "Umea", "Price": 4, "Stock": 5}, ["1 row was left out"]),
    ],
)
def test_a_second_table_behind_an_empty_line_has_its_own_names(tmp_path, below, read, told):
    document = loaded(tmp_path, "a.csv", f"Part,Price,Stock\nSeal,9,3\n\n{below}\n")
    assert rows(document)[-1] == read
    assert len(document.warnings) == len(told)
    assert all(map(str.startswith, document.warnings, told))


def test_what_may_name_the_fields_of_a_second_table_is_told(tmp_path):
    document = loaded(tmp_path, "a.csv", "Part,Price\nSeal,9\n\nCity,Inns\nUmea,4\n")
    assert document.warnings == ("line 4 may name the fields of another table; it was read as a row",)


@pytest.mark.parametrize(
    ("merged", "names"),
    [
        (["B1:C1", "A1:A2", "D1:D2"], ["Part", "Size from", "Size to", "Price"]),
        # What reaches into no row of names, or further, or tells of no column that another spans.
        (["B1:C1"], ["Part", "Size", "column 3", "Price"]),
        (["B1:C1", "A1:A3", "D1:D2"], ["Part", "Size", "column 3", "Price"]),
        (["A1:A2"], ["Part", "Size", "column 3", "Price"]),
    ],
)
def test_two_rows_that_name_the_fields_together_are_one(merged, names):
    def edit(workbook):
        for line in (["Part", "Size", None, "Price"], [None, "from", "to"], ["Valve", 1, 2, 9]):
            workbook.active.append(line)
        for cells in merged:
            workbook.active.merge_cells(cells)

    document = load_xlsx(edited_xlsx(edit), "a.xlsx")
    assert [*rows(document)[-1]][:-1] == names
    assert (document.parts[-1].metadata["file_row"], len(document.parts)) == (3, 2 - (" to" in names[2]))


@pytest.mark.parametrize(
    ("below", "last", "read"),
    [
        ([["Staff"], ["name", "phone"], ["Ada", 555]], {"name": "Ada", "phone": 555}, 2),
        ([["name", "phone", "role"], ["Ada", "+43 1", "chief"]], {"name": "Ada", "phone": "+43 1", "role": "chief"}, 2),
        ([["oil", "none", "none"], ["cap", 2, 4]], {"part": "cap", "stock": 2, "price": 4}, 3),
        ([["oil", 4]], {"part": "oil", "stock": 4}, 2),
    ],
)
def test_a_second_table_of_a_sheet_has_its_own_names(below, last, read):
    sheet = [["part", "stock", "price"], ["seal", 3, 7], [], *below]
    document = load_xlsx(xlsx({"S": sheet}), "a.xlsx")
    assert (rows(document)[-1], len(rows(document))) == ({**last, "sheet": "S"}, read)
    assert document.warnings == ("row 4 of S may name the fields of another table; it was read as a row",) * (read > 2)


def test_what_a_workbook_writes_for_a_character_is_read_as_it():
    found = rows(load_xlsx(xlsx({"S": [["a", "b"], ["x_x000D_\ny", "_x005F_x000D__xD800_"]]}), "a.xlsx"))
    assert found == [{"a": "x\r\ny", "b": "_x000D_\ufffd", "sheet": "S"}]


@pytest.mark.parametrize("filtered", [False, True])
def test_hidden_rows_and_columns_are_no_text_but_what_a_filter_hides_is(filtered):
    def edit(workbook):
        sheet = workbook.active
        for line in (["part", "margin", "price"], ["seal", 5, 7], ["oil", 6, 9], ["cap", 1, 2]):
            sheet.append(line)
        sheet.column_dimensions["B"].hidden = sheet.row_dimensions[3].hidden = sheet.row_dimensions[4].hidden = True
        sheet.row_dimensions[4].outlineLevel = 1
        if filtered:
            sheet.auto_filter.ref = "A1:C4"
            sheet.auto_filter.add_filter_column(0, ["seal", "cap"])

    document = load_xlsx(edited_xlsx(edit), "a.xlsx")
    found = [(row["part"], row["price"], row.get("margin")) for row in rows(document)]
    assert found == [("seal", 7, None), *[("oil", 9, None)] * filtered, ("cap", 2, None)]
    assert document.warnings == ("1 sheet has rows or columns that were left out (hidden): Sheet",)


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ([["Name"], ["Pump"], ["Seal"], ["Valve"]], ["Name"]),
        ([["Name"], ["Pump", 3], ["Seal", 4]], ["Name", "column 2"]),
        ([["Report"], ["of May"], ["Name", "Days"], ["Pump", 3]], ["Name", "Days"]),
        ([["Name", "Days"], ["Pump"], ["Seal", "x"]], ["Name", "Days"]),
    ],
)
def test_only_what_stands_alone_above_names_is_a_title(lines, names):
    found = {name for row in rows(load_xlsx(xlsx({"S": lines}), "a.xlsx")) for name in row}
    assert found == {*names, "sheet"}
