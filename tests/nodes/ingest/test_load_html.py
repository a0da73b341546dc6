"""The main text of web pages (K2)."""

from __future__ import annotations

import contextlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundgraph.core.errors import IngestError
from groundgraph.ingest.load_document import load_document
from groundgraph.ingest.load_html import load_html

pytestmark = pytest.mark.covers("K2")

PARAGRAPH = "Pump 17 is serviced every 90 days by the maintenance team of the plant, and the log book is signed."


def page(body: str, head: str = "<title>Manual</title>") -> str:
    return f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>"


def text_of(body: str) -> str:
    return load_html(page(body).encode()).text


def test_a_real_page_gives_its_headings_and_text_and_nothing_else(data):
    path = data / "documents/html/what_is_haystack.html"
    loaded = load_html(path.read_bytes())
    assert loaded.title == "What is Haystack? | Haystack"
    assert loaded.text.startswith("# What is Haystack?\n\nHaystack is the open source Python framework by deepset")
    assert "## Building with Haystack\n" in loaded.text
    assert "- Semantic search on a large collection of documents in any language\n" in loaded.text
    assert not re.search(r"function\s*\(|</|\{\s*\w+:|cookie", loaded.text)


def test_a_single_element_is_a_page():
    assert load_html(b"<p>Pump 17 is serviced every 90 days.</p>").text == "Pump 17 is serviced every 90 days.\n"


@pytest.mark.parametrize(
    ("name", "rows", "first", "row"),
    [
        ("wtq_203-csv_435.html", 29, "| Year | Division |", "| 1953/54 | N/A | ASL | 1st | Champion (no playoff) | C"),
        ("wtq_203-csv_733.html", 12, "| Rank | Cyclist |", "| 2 | Alexandr Kolobnev (RUS) | Team CSC Saxo Bank | s.t."),
        ("wtq_204-csv_149.html", 9, "| Description Losses |", "| Murdered | 75,000 | 100,000 | 116,000 | 133,000 |"),
    ],
)
def test_a_table_of_a_real_page_is_kept_row_by_row(data, name, rows, first, row):
    lines = load_html((data / "documents/html" / name).read_bytes()).text.splitlines()
    assert lines[0].startswith(first)
    assert any(line.startswith(row) for line in lines)
    assert len(lines) == rows


def test_headings_lists_code_and_tables_are_markdown():
    text = text_of(
        f"<main><h1>Pumps</h1><p>{PARAGRAPH}</p><h2>Limits</h2><ul><li>Pressure: 5 bar</li><li>Heat: 40 C</li></ul>"
        "<table><tr><th>Part</th><th>Days</th></tr><tr><td>Seal</td><td>90</td></tr><tr><td>H<sub>2</sub>O<br>filter"
        "</td><td>30</td></tr></table><pre><code>a = 1\n  b = 2</code></pre><p>The end of it.</p></main>"
    )
    assert text.startswith(f"# Pumps\n\n{PARAGRAPH}\n\n## Limits\n\n- Pressure: 5 bar\n- Heat: 40 C\n")
    assert "| Part | Days |\n|---|---|\n| Seal | 90 |\n| H2O filter | 30 |\n" in text
    assert "```\na = 1\n  b = 2\n```\n\nThe end of it." in text


@pytest.mark.parametrize(
    "noise",
    [
        "<nav><a href='/'>NOISE and more</a> <a href='/b'>Products</a></nav>",
        "<div role='navigation'><p>NOISE that leads elsewhere on this site</p></div>",
        "<footer><p>NOISE below every page of this site</p></footer>",
        "<aside><p>NOISE beside the text, which is about other things</p></aside>",
        "<div class='breadcrumb'><p>NOISE &gt; where you are on this site</p></div>",
        "<ul><li><a href='/'>NOISE</a></li><li><a href='/b'>Products</a></li><li><a href='/c'>Imprint</a></li></ul>",
        "<script>var text = 'NOISE';</script>",
        "<noscript><p>NOISE: please switch JavaScript on to read this page</p></noscript>",
        "<p hidden>NOISE that no reader sees, whatever it says</p>",
        "<div id='cookie-banner'><p>NOISE: we use cookies to improve your experience.</p></div>",
        "<section class='gdpr_notice x'><p>NOISE: your privacy matters to us and our 812 partners.</p></section>",
    ],
)
def test_what_is_no_content_is_dropped(noise):
    for start, end in (("<main>", "</main>"), ("<article>", "</article>"), ("<div class='page'>", "</div>"), ("", "")):
        text = text_of(f"{noise}{start}<h1>Pumps</h1><p>{PARAGRAPH}</p>{end}{noise}")
        assert "NOISE" not in text
        assert text == f"# Pumps\n\n{PARAGRAPH}\n"


def test_a_list_of_links_in_the_main_text_stays():
    links = "".join(f"<li><a href='/{name}'>{name}</a></li>" for name in ("Seals", "Filters", "Valves"))
    assert "- Seals\n- Filters\n- Valves" in text_of(f"<main><h1>See</h1><p>{PARAGRAPH}</p><ul>{links}</ul></main>")


@pytest.mark.parametrize("name", ["rel='{}'", "accesskey='{}'"])
def test_what_leads_to_the_pages_around_this_one_is_no_text_of_it(name):
    back, on = ("prev", "next") if name.startswith("rel") else ("p", "n")
    steps = f"<li><a {name.format(back)} href='a.html'>Before</a></li><li>The whole manual of the plant</li>"
    steps = f"<ul class='docnav'>{steps}<li><a {name.format(on)} href='b.html'>Behind</a></li></ul>"
    text = text_of(f"{steps}<div><h1>Seals</h1><p>{PARAGRAPH}</p></div>{steps}")
    assert PARAGRAPH in text
    assert "Before" not in text
    assert "whole manual" not in text
    # A sentence with one such link, or text around several, stays.
    linked = f"<p>Read <a rel='next' href='b.html'>the next chapter</a> first.</p><div>{PARAGRAPH * 2}{steps}</div>"
    assert "the next chapter" in text_of(f"<div><h1>Seals</h1><p>{PARAGRAPH}</p>{linked}</div>")


def test_a_manual_about_cookies_keeps_its_sections():
    text = text_of(
        f"<main><h1>HTTP</h1><p>{PARAGRAPH}</p><section id='cookies'><h2 id='cookie-names'>Cookies</h2>"
        "<p class='consent'>A cookie is a name and a value that a server sends to a browser.</p></section></main>"
    )
    assert "## Cookies\n\nA cookie is a name and a value" in text


def test_text_behind_a_dropped_element_stays():
    text = text_of(f"<main><h1>Pumps</h1><p>Before<script>x()</script> after. {PARAGRAPH}</p></main>")
    assert "Before after. Pump 17" in text
    text = text_of(f"<main><p><b>Before</b><script>x()</script> after. {PARAGRAPH}</p></main>")
    assert "Before after. Pump 17" in text


def test_a_short_page_without_main_keeps_its_headings():
    assert text_of(
        "<h1>Pumps</h1><div>Loose text, not in a <a href='x'>paragraph</a>.</div><h2>Days</h2><p>Ninety.</p>"
    ) == ("# Pumps\n\nLoose text, not in a paragraph.\n\n## Days\n\nNinety.\n")


def test_every_article_of_a_page_is_kept_with_its_heading():
    articles = "".join(f"<article><h2>Pump {n}</h2><p>Pump {n}: {PARAGRAPH}</p></article>" for n in (1, 2, 3))
    for body in (articles, f"<main>{articles}</main>"):
        assert re.findall(r"^## Pump \d$", text_of(body), re.MULTILINE) == ["## Pump 1", "## Pump 2", "## Pump 3"]


def test_a_teaser_in_an_article_does_not_hide_the_text():
    text = text_of(f"<article><p>A teaser.</p></article><div><h1>Pumps</h1><p>{PARAGRAPH}</p></div>")
    assert f"# Pumps\n\n{PARAGRAPH}" in text


def test_a_table_inside_a_table_that_makes_the_layout_is_kept_once():
    inner = "<table><tr><td>Seal</td><td>90 days</td></tr><tr><td>Filter</td><td>30 days</td></tr></table>"
    text = text_of(f"<h1>Parts</h1><p>{PARAGRAPH}</p><table><tr><td><p>Left</p></td><td>{inner}</td></tr></table>")
    assert "| Seal | 90 days |\n|---|---|\n| Filter | 30 days |" in text
    assert text.count("| 90 days") == text.count("30 days") == 1


@pytest.mark.parametrize(
    ("head", "body", "title"),
    [
        ("<title> A\n &amp; B </title>", "<h1>Heading</h1>", "A & B"),
        ("<title></title>", "<h1>The <i>real</i> one</h1>", "The real one"),
        ("", "<h2>Second level</h2>", "Second level"),
        ("", "", "a"),
    ],
)
def test_the_title_is_that_of_the_page_then_a_heading_then_the_file_name(tmp_path, head, body, title):
    (tmp_path / "a.html").write_text(page(f"<main>{body}<p>{PARAGRAPH}</p></main>", head), "utf-8")
    assert load_document(tmp_path / "a.html", "docs/a.html").title == title


RUSSIAN = "Насос номер 17 обслуживают каждые 90 дней, и это делает бригада завода по графику ремонта."


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "windows-1251", "koi8-r"])
@pytest.mark.parametrize(
    "how", ["<meta charset={0}>", "<meta http-equiv='Content-Type' content='text/html; charset={0}'>"]
)
def test_the_declared_encoding_is_used_and_a_byte_order_mark_wins(encoding, how):
    named = "utf-8" if encoding.startswith("utf") else encoding
    data = page(f"<main><h1>Насосы</h1><p>{RUSSIAN}</p></main>", how.format(named)).encode(encoding)
    loaded = load_html(data)
    assert RUSSIAN in loaded.text
    assert loaded.warnings == ()


def test_a_declaration_is_believed_where_a_guess_would_be_wrong():
    data = page("<main><p>Насос №17</p></main>", "<meta charset=iso-8859-5>").encode("iso-8859-5")
    assert load_html(data).text == "Насос №17\n"


def test_an_undeclared_encoding_is_detected():
    text = " ".join(f"{RUSSIAN} Раздел {number}." for number in range(20))
    data = page(f"<main><h1>Насосы</h1><p>{text}</p></main>").encode("windows-1251")
    assert RUSSIAN in load_html(data).text


def test_latin_1_is_what_browsers_take_it_for():
    data = page("<main><p>The pump’s “seal” – 90 days</p></main>", "<meta charset=iso-8859-1>").encode("cp1252")
    assert load_html(data).text == "The pump’s “seal” – 90 days\n"


@pytest.mark.parametrize("name", ["nonsense-8", "utf-16", "hex", "undefined", "idna"])
def test_a_wrong_declaration_falls_back_to_what_the_bytes_are(name):
    data = page(f"<main><h1>Насосы</h1><p>{RUSSIAN}</p></main>", f"<meta charset='{name}'>").encode()
    assert RUSSIAN in load_html(data).text


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"   \n",
        b"<html><body><div id='root'></div><script>render()</script></body></html>",
        b"<html><body><nav><a href='/'>Home</a></nav></body></html>",
        b"<html></html>",
        b"\x00\x01\x02",
    ],
)
def test_a_page_without_main_text_is_reported(data):
    with pytest.raises(IngestError, match="no main text"):
        load_html(data)


@pytest.mark.parametrize(
    "body",
    [
        f"<p>{PARAGRAPH}<div><b>unclosed <table><tr><td>cell",
        f"</div></p><p>{PARAGRAPH}</span></body></html><p>after the end",
        f"<p>{PARAGRAPH}</p><a href='x{'y' * 5000}<b",
        "<div>" * 3000 + f"<p>{PARAGRAPH}</p>",
        f"<p>\x00\x08 {PARAGRAPH} \ufffe</p>",
        f"<?xml version='1.0' encoding='utf-16'?><p>{PARAGRAPH}</p>",
        f"<table><table><tr><td><table>{PARAGRAPH}</table></table>",
    ],
)
def test_broken_markup_gives_its_text_or_an_ingest_error(body):
    with contextlib.suppress(IngestError):
        assert "90 days" in load_html(page(body).encode("utf-8", "surrogatepass")).text


PIECES = st.sampled_from(
    ["<p>", "</p>", "<table>", "<tr>", "<td>", "</table>", "<main>", "<h1>", "<!--", "-->", "<br>", "<li>", "<script>"]
)


@pytest.mark.guard
@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(PIECES, st.text(max_size=20)), max_size=25).map("".join))
def test_any_markup_gives_text_or_an_ingest_error(markup):
    try:
        loaded = load_html(markup.encode("utf-8", "replace"))
    except IngestError:
        return
    assert loaded.text.strip()
