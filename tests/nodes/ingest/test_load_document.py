"""Reading one file (K2)."""

from __future__ import annotations

import re
import sys

import pytest

from groundgraph.core.document import MARKDOWN, PLAIN_TEXT, RESTRUCTURED_TEXT, Document
from groundgraph.core.errors import IngestError
from groundgraph.ingest.load_document import load_document
from groundgraph.ingest.read_file import MAX_BYTES, read_file
from groundgraph.text.original import ENCODING, FILE_TEXT

pytestmark = pytest.mark.covers("K2")


def loaded(tmp_path, data: str | bytes, name: str = "a.md") -> Document:
    path = tmp_path / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return load_document(path, f"docs/{name}")


def test_line_ends_are_normalised_and_a_byte_order_mark_is_dropped(tmp_path):
    document = loaded(tmp_path, b"\xef\xbb\xbfone\r\ntwo\rthree\n", "a.txt")
    assert (document.text, document.media_type, document.name) == (
        "one\ntwo\nthree\n",
        PLAIN_TEXT,
        "docs/a.txt",
    )
    assert document.warnings == ()


def test_nul_and_bytes_that_are_no_utf8_are_replaced_and_reported(tmp_path):
    document = loaded(tmp_path, "Ein Text mit � und ".encode() + b"caf\xe9, nul \0 und noch viel mehr Text.")
    assert document.text == "Ein Text mit � und caf�, nul � und noch viel mehr Text."
    assert document.warnings == (
        "1 places that are not UTF-8 were replaced",
        "1 NUL characters were replaced",
    )


def test_a_file_that_is_no_text_is_refused(tmp_path):
    with pytest.raises(IngestError, match="not UTF-8"):
        loaded(tmp_path, bytes(range(256)) * 4)


@pytest.mark.covers("K11")
def test_front_matter_is_metadata_and_the_full_text_is_kept(tmp_path):
    text = "---\ntitle: From front matter\ncategory: auth\n---\n# Heading\n\nBody.\n"
    document = loaded(tmp_path, text)
    assert document.text == text
    assert document.text[document.body_start :].startswith("# Heading")
    assert document.metadata == {"title": "From front matter", "category": "auth"}
    assert document.media_type == MARKDOWN


@pytest.mark.covers("F11")
@pytest.mark.parametrize(
    ("front_matter", "reason"),
    [
        ("a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]", "it uses aliases"),
        ("a: !!python/object/apply:os.system [touch mark]", "could not determine a constructor for the tag"),
        ("a: " + "[" * 30_000, "it is nested more than 50 deep"),
        ("a: " + "x" * 70_000, "longer than 65536 characters"),
        ("date: 2026-13-45", "month must be in 1..12"),
        ("? [a, b]\n: c", "found unhashable key"),
    ],
    ids=["bomb", "python", "deep", "long", "date", "key"],
)
def test_front_matter_that_is_not_read_is_told_and_is_no_text(tmp_path, front_matter, reason):
    document = loaded(tmp_path, f"---\n{front_matter}\n---\n# Pump\n\nBody.\n")
    assert document.text[document.body_start :] == "# Pump\n\nBody.\n"
    assert document.title == "Pump"
    [warning] = document.warnings
    assert warning.startswith(f"the front matter cannot be read and was left out: {reason}")


def test_what_stands_between_rules_and_names_no_field_is_text(tmp_path):
    document = loaded(tmp_path, "---\nPumps are red.\n---\nBody.\n")
    assert (document.body_start, len(document.warnings)) == (0, 1)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Open <!-- not\nyet --> at 8 bar.", "Open         \n        at 8 bar."),
        ("`<!-- a -->` and\n```\n<!-- b -->\n```\n", "`<!-- a -->` and\n```\n<!-- b -->\n```\n"),
        ("Never <!-- closed", "Never <!-- closed"),
        ("1. a\n\n    ```\n    <!-- b -->\n    ```\n", "1. a\n\n    ```\n    <!-- b -->\n    ```\n"),
        ("- ```\n  a\n  ```\n\n<!-- b -->", "- ```\n  a\n  ```\n\n          "),
        ("a\n\n[//]: # (b)\n[c]: <> 'd'\n[e]: #f (g)", "a\n\n           \n           \n[e]: #f (g)"),
    ],
)
def test_comments_of_markdown_are_no_text(tmp_path, text, shown):
    assert loaded(tmp_path, text).text == shown
    assert loaded(tmp_path, text, "a.txt").text == text


def test_comments_of_restructuredtext_are_no_text(tmp_path):
    kept = ".. [1] A note.\n\n.. _place:\n\n.. |x| replace:: y\n\n.. note:: Shown.\n\nCode::\n\n   .. shown\n"
    hidden = ".. No one reads\n   this.\n\n..\n   Nor this,\n\n   nor that.\n\n"
    shown = loaded(tmp_path, f"Pumps\n=====\n\n{hidden}Text.\n\n{kept}", "a.rst").text
    assert shown == "Pumps\n=====\n\n" + re.sub(".", " ", hidden) + f"Text.\n\n{kept}"


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("a.md", "Intro.\n\n```\n# a comment\n```\n\n## The *real* title\n", "The real title"),
        ("b.md", "Setext\n======\n\ntext", "Setext"),
        ("c.md", "no heading", "c"),
        ("d.rst", "=====\nTitle\n=====\n\ntext", "Title"),
        ("d.rest", ".. _top:\n\nUsing ``a *b`` and `it <x>`_\n---------------------------\n", "Using a *b and it"),
        ("e.txt", "First paragraph.\n\nAbstract\n\n   Indented.", "e"),
        ("f.md", "---\ntitle: 2026\n---\ntext", "2026"),
        ("g.md", "# Valves\n\nOne.\n\n# Pumps\n\nTwo.\n\n# Rooms\n\nThree.\n", "g"),
        ("h.md", "Valves\n===\n\nOne.\n\nPumps\n===\n\nTwo.\n", "h"),
        ("p.md", "# Plant\n\n# Valves\n\nOne.\n\n# Pumps\n\nTwo.\n", "Plant"),
        ("i.md", "# Plant\n\n## Valves\n\nOne.\n\n## Pumps\n\nTwo.\n", "Plant"),
        ("j.rst", "Valves\n======\n\nOne.\n\nPumps\n=====\n\nTwo.\n", "j"),
        ("k.html", "<body><h1>Valves</h1><p>One is here.</p><h1>Pumps</h1><p>Two are there.</p>", "k"),
    ],
)
def test_the_title_comes_from_front_matter_then_a_heading_then_the_file_name(tmp_path, name, text, title):
    assert loaded(tmp_path, text, name).title == title


def test_the_fields_that_restructuredtext_begins_with_are_metadata_and_no_text(tmp_path):
    text = ":Title: Return codes\n:description: Which codes\n   there are.\n\nThe code 0 means success.\n"
    document = loaded(tmp_path, text, "codes.rst")
    assert document.metadata["description"] == "Which codes there are."
    assert (document.title, document.text[document.body_start :]) == ("Return codes", "The code 0 means success.\n")
    # A role is no field, fields further down are text, and so is what is longer than those of a file.
    assert loaded(tmp_path, f":notes: {'x' * 5000}\n\nText.\n", "long.rst").body_start == 0
    assert loaded(tmp_path, ":class:`Pump` runs.\n\n:author: Ann\n", "pump.rst").body_start == 0


@pytest.mark.covers("A13")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (".. _top:\n\nPumps\n=====\n\nThey *run*.\n", RESTRUCTURED_TEXT),
        ("=====\nPumps\n=====\n\n.. note::\n\n   They *run*.\n", RESTRUCTURED_TEXT),
        # A plain text may have rules below its headings, or dots where something is left out.
        ("Pumps\n=====\n\nThey *run*.\n", PLAIN_TEXT),
        ("Pumps\n=====\n\n.. and they run on: \n", PLAIN_TEXT),
        ("They run.\n\n.. note:: Not under pressure.\n", PLAIN_TEXT),
    ],
)
def test_a_plain_text_with_directives_below_headings_is_read_as_restructuredtext(tmp_path, text, kind):
    document = loaded(tmp_path, text, "pumps.txt")
    assert document.media_type == kind
    assert document.text == text


def test_a_file_that_cannot_be_read_is_an_ingest_error(tmp_path):
    with pytest.raises(IngestError, match="cannot be read"):
        load_document(tmp_path / "gone.md", "gone.md")
    with pytest.raises(IngestError, match="not supported"):
        load_document(tmp_path / "a.ppt", "a.ppt")


@pytest.mark.parametrize(
    ("name", "package"),
    [("a.pdf", "pypdfium2"), ("a.docx", "mammoth"), ("a.xlsx", "openpyxl"), ("a.html", "trafilatura")],
)
def test_without_the_extra_a_document_is_reported_with_the_command(tmp_path, monkeypatch, name, package):
    monkeypatch.setitem(sys.modules, package, None)
    command = re.escape(f'{package}, which is not installed: pip install "groundgraph[documents]"')
    with pytest.raises(IngestError, match=command):
        loaded(tmp_path, b"%PDF-1.7 <p>Pump 17 is serviced.</p>", name)


def test_utf16_and_utf32_with_a_byte_order_mark_are_read(tmp_path):
    for encoding in ("utf-16", "utf-32"):
        assert loaded(tmp_path, "Köln\r\nПриём".encode(encoding), "a.txt").text == "Köln\nПриём"


def test_a_file_beyond_the_size_that_memory_bears_is_refused(tmp_path):
    (tmp_path / "a.md").write_bytes(b"x" * 1001)
    with pytest.raises(IngestError, match="larger than 0 MB; split it"):
        read_file(tmp_path / "a.md", 1000)
    (tmp_path / "a.md").write_bytes(b"x" * (MAX_BYTES + 1))
    with pytest.raises(IngestError, match="larger than 32 MB; split it"):
        load_document(tmp_path / "a.md", "a.md")


SAID = {
    "ru": "Насос семнадцать обслуживается каждые девяносто дней, и результат записывают в журнал.\r\n",
    "de": "Die Pumpe wird alle neunzig Tage gewartet. Übergröße und Prüfung stehen im Anhang, für Wärme gilt §5.\r\n",
    "ja": "ポンプは九十日ごとに点検されます。弁は年に一度です。\r\n",
}


@pytest.mark.parametrize(
    ("language", "encoding"),
    [
        ("ru", "windows-1251"),
        ("ru", "koi8-r"),
        ("ru", "utf-16-le"),
        ("de", "windows-1252"),
        ("ja", "shift-jis"),
        ("ja", "iso-2022-jp"),
    ],
)
def test_text_in_another_encoding_is_read_in_it_and_told_and_its_places_are_those_of_the_file(
    tmp_path, language, encoding
):
    document = loaded(tmp_path, (SAID[language] * 5).encode(encoding))
    assert document.text == (SAID[language] * 5).replace("\r\n", "\n")
    [told] = document.warnings
    assert (name := re.match("it was read as ([a-z0-9_]+), by what it holds; --encoding", told)[1])
    kept = document.metadata[FILE_TEXT]
    assert kept[ENCODING] == name
    assert (tmp_path / "a.md").read_bytes().decode(name) == SAID[language] * 5


def test_text_in_utf8_that_was_damaged_is_taken_for_no_other_encoding(tmp_path):
    damaged = SAID["ru"].encode() * 20 + b"\xff" * 20
    document = loaded(tmp_path, damaged)
    assert document.warnings == ("20 places that are not UTF-8 were replaced",)
    assert document.text.startswith("Насос семнадцать")


def test_escapes_of_a_terminal_are_no_other_encoding(tmp_path):
    said = "\x1b[31mThe pump\x1b[0m costs \x1b$50 and is serviced every 90 days. " * 9
    assert loaded(tmp_path, said.encode()).text == said


@pytest.mark.covers("K14")
@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (SAID["de"], "windows-1252"),
        ("Gerät;Größe\r\nRührwerk;5\r\n", "windows-1252"),
        (("The pump costs £300 and runs at 20°C. It is serviced every 90 days by the team. " * 30), "windows-1252"),
        ("Łódź jest miastem, w którym stoi żółta pompa źródlana. Właśnie ją sprawdzają. " * 8, "windows-1250"),
    ],
)
def test_a_few_bytes_that_are_not_utf8_are_western_letters_and_no_others(tmp_path, text, encoding):
    assert loaded(tmp_path, text.encode(encoding)).text == text.replace("\r\n", "\n")


@pytest.mark.covers("B12", "K14")
@pytest.mark.parametrize(("name", "text"), [("a.txt", "Хранить в сухом месте"), ("b.csv", "деталь,цена\nнасос,7\n")])
def test_a_text_is_read_in_the_encoding_that_is_told_however_short_it_is(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text.encode("cp1251"))
    document = load_document(path, name, None, "cp1251")
    assert text.split()[-1].split(",")[0] in document.text
    assert document.warnings == ()
    path.write_bytes(text.encode("utf-8-sig"))
    assert text.split()[-1].split(",")[0] in load_document(path, name, None, "cp1251").text
    path.write_bytes(b"\x98" + text.encode("cp1251"))
    with pytest.raises(IngestError, match=r"it is not cp1251 text, as --encoding or knowledge_base\.encodings says"):
        load_document(path, name, None, "cp1251")
