"""Archives that unpack to far more than they are (fault 63)."""

from __future__ import annotations

import io
import tracemalloc
import zipfile

import pytest
from document_files import docx, paragraph, xlsx, zipped

from groundgraph.core.errors import IngestError
from groundgraph.ingest.office import load_docx, load_xlsx
from groundgraph.ingest.read_file import open_archive

pytestmark = pytest.mark.covers("fault 63")

BOMB = b"<x>" + b" " * 30_000_000 + b"</x>"


def test_a_bomb_in_a_word_or_excel_file_is_refused_before_it_is_unpacked():
    word = docx(paragraph("text"), **{"word/comments.xml": BOMB})
    excel = io.BytesIO(xlsx({"a": [["x"], [1]]}))
    with zipfile.ZipFile(excel, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet2.xml", BOMB)
    # What they import upon their first file is not counted.
    load_docx(docx(paragraph("text")), "a")
    load_xlsx(xlsx({"a": [["x"], [1]]}), "a")
    tracemalloc.start()
    for load, data in ((load_docx, word), (load_xlsx, excel.getvalue())):
        with pytest.raises(IngestError, match="more than 100 times its size"):
            load(data, "a")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


def test_many_entries_that_are_each_modest_are_refused_by_their_sum(monkeypatch):
    monkeypatch.setattr("groundgraph.ingest.read_file.MAX_UNPACKED", 5000)
    with pytest.raises(IngestError, match="would unpack to more than"):
        open_archive(zipped(*((f"{n}.bin", b"x" * 1000) for n in range(6))), "Word")
    monkeypatch.setattr("groundgraph.ingest.read_file.MAX_ENTRIES", 3)
    with pytest.raises(IngestError, match="has 4 entries"):
        open_archive(zipped(*((f"{n}.bin", b"x") for n in range(4))), "Word")


def test_an_entry_that_is_longer_than_it_says_is_not_unpacked_further():
    honest = zipped(("a.xml", BOMB))
    size = len(BOMB).to_bytes(4, "little")
    assert honest.count(size) == 2
    with pytest.raises(IngestError, match="damaged"):
        open_archive(honest.replace(size, (1000).to_bytes(4, "little")), "Word")


def test_small_entries_may_have_any_ratio():
    with open_archive(zipped(("a.xml", b" " * 900_000)), "Word") as archive:
        assert archive.namelist() == ["a.xml"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_a_document_type_is_seen_wherever_it_stands(encoding):
    words = "".join(f"{number:x}" for number in range(250_000))
    long = "<!--" + words[: (1 << 20) - 10] + "--><!DOCTYPE x>"
    with pytest.raises(IngestError, match="document type"):
        open_archive(zipped(("a.xml", long.encode(encoding))), "Word")


@pytest.mark.covers("fault 52")
def test_a_damaged_or_encrypted_entry_is_reported():
    data = bytearray(zipped(("a.xml", bytes(range(256)) * 20)))
    data[60] ^= 0xFF
    with pytest.raises(IngestError, match=r"'a.xml' in it is damaged"):
        open_archive(bytes(data), "Word")
    flagged = bytearray(zipped(("a.xml", b"<x/>")))
    flagged[6] |= 1
    flagged[flagged.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(IngestError, match="encrypted"):
        open_archive(bytes(flagged), "Word")
