"""Documents as inert HTML: every character is there, only our own tags are, and the words of a citation are marked."""

from __future__ import annotations

import json
import re
import threading
from html import unescape
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from served import PUMPS, filled, serving

from groundgraph import KnowledgeBase
from groundgraph.core.document import RECORDS, Document, Part
from groundgraph.ingest.records import load_csv
from groundgraph.report.words import Span
from groundgraph.serve import passages
from groundgraph.serve.passages import WINDOW, markdown_html, plain_html, records_html, window

OURS = re.compile(
    r"</?(?:div|p|h[1-6]|ul|ol|li|blockquote|pre|code|em|strong|mark|br|hr|table|thead|tbody|tr|th|td|i)"
    r"(?: (?:class=(?:\"(?:prose|plain|wide|lit)\"|hc)|dir=\"auto\"|scope=\"col\"))*(?: /)?>"
)
signs = st.sampled_from(
    list("#*_`>|-+[]()!<>\\&\n\t~=1.a ") + ["<script>", "](http://x)", "\ue000", "\ue001", "\u202e"]
)
markdown = st.lists(signs | st.text(max_size=3), max_size=60).map("".join)


def spans_of(text: str, places: list[int]) -> list[Span]:
    within = sorted(place % (len(text) + 1) for place in places)
    return [Span(low, high) for low, high in zip(within[::2], within[1::2], strict=False) if low < high]


@pytest.mark.covers("U8")
@pytest.mark.guard
@given(markdown, st.lists(st.integers(0, 10_000), max_size=6))
@example("<img src=x onerror=alert(1)>", [0, 8])
@example("[a](javascript:alert(1))", [1, 2])
@example("**bold** text `code`", [0, 20])
@example("| a | b |\n|---|---|\n| c | d |", [2, 27])
def test_nothing_of_a_document_becomes_a_tag(text: str, places: list[int]):
    for html in (markdown_html(text, spans_of(text, places)), plain_html(text, spans_of(text, places))):
        rest = OURS.sub("", str(html))
        assert "<" not in rest
        assert ">" not in rest


@given(markdown, st.lists(st.integers(0, 10_000), max_size=6))
def test_a_plain_text_is_whole_and_marked_where_it_is_cited(text: str, places: list[int]):
    spans = spans_of(text, places)
    html = re.sub(r"<i class=hc>.*?</i>", "", str(plain_html(text, spans)))
    bare = re.sub(r"[^\w ]", "", unescape(re.sub(r"<[^>]*>", "", html)))
    assert bare == re.sub(r"[^\w ]", "", text)
    marked = "".join(re.findall(r"<mark[^>]*>(.*?)</mark>", html, re.DOTALL))
    wanted = "".join(text[span.start : span.end] for span in spans)
    assert re.sub(r"[^\w ]", "", unescape(marked)) == re.sub(r"[^\w ]", "", wanted)


@pytest.mark.parametrize(
    ("text", "cited", "marked"),
    [
        ("# Pumps\n\nServiced *yearly*. Or not.", "Serviced *yearly*.", ["Serviced ", "yearly"]),
        ("- one\n- two and three\n", "- two and three", ["two and three"]),
        ("| a | b |\n|---|---|\n| c | d |\n", "| c | d |", ["c", "d"]),
        ("Run `make all` now.", "Run `make all`", ["Run ", "make all"]),
        ("See [the guide](http://x/y_z) first.", "the guide", ["the guide"]),
        ("```\nx = 1\ny = 2\n```\n", "y = 2", ["y = 2"]),
    ],
)
def test_the_words_of_a_citation_are_marked_in_markdown(text: str, cited: str, marked: list[str]):
    at = text.index(cited)
    html = str(markdown_html(text, [Span(at, at + len(cited))]))
    assert [found for found in re.findall("<mark>(.*?)</mark>", html) if found.strip()] == marked


def test_a_mark_has_no_gap_where_a_line_of_the_file_ends():
    text = "Pumps are\nserviced *yearly*."
    html = str(markdown_html(text, [Span(0, len(text))]))
    assert "<mark>Pumps are</mark><mark>\n</mark><mark>serviced </mark>" in html


def test_a_mark_that_markdown_would_swallow_is_seen_in_the_text_as_it_stands():
    text = "[guide](http://x/page_one) is read first"
    at = text.index("page_one")
    html = str(markdown_html(text, [Span(at, at + len("page_one"))]))
    assert "<mark>page_one</mark>" in html
    assert 'class="plain"' in html


@given(st.integers(0, 200_000), st.integers(0, 5_000), st.integers(100_000, 210_000))
def test_a_window_holds_the_passage_and_is_bounded(start: int, size: int, length: int):
    text = ("word " * 20 + "\n\n") * (length // 102 + 1)
    start = min(start, len(text) - size)
    low, high = window(text, start, start + size)
    assert 0 <= low <= start
    assert start + size <= high <= len(text)
    assert high - low <= WINDOW


def test_the_records_around_a_citation_stand_in_a_table():
    rows = [f"part: P{number}\nstock: {number}" for number in range(100)]
    text = "\n\n".join(rows)
    parts = []
    for row in rows:
        at = text.index(row + "\n") if row != rows[-1] else len(text) - len(row)
        parts.append(Part(at, at + len(row)))
    document = Document("parts.csv", text, RECORDS, parts=tuple(parts))
    html = str(records_html(document, parts[50].start))
    assert html.count("<tr") == 1 + 51
    assert re.findall('<tr class="lit">(.*?)</tr>', html) == ["<td><mark>P50</mark></td><td><mark>50</mark></td>"]


@pytest.mark.parametrize(("chars", "shown"), [(2_000, 29), (40_000, 1)])
def test_of_long_records_fewer_are_shown_around_a_citation(chars: int, shown: int):
    document = load_csv("part,told\n" + "\n".join(f"P{at},{'x' * chars}" for at in range(51)), [], "a.csv")
    html = str(records_html(document, document.parts[25].start))
    assert html.count("<tr") == 1 + shown
    assert "<mark>P25</mark>" in html


@pytest.mark.parametrize(("name", "makes"), [("pumps.md", "markdown_html"), ("parts.csv", "records_html")])
def test_a_passage_is_made_ready_beside_the_loop_that_serves_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, makes: str
):
    threads = []
    own = getattr(passages, makes)
    monkeypatch.setattr(passages, makes, lambda *given: threads.append(threading.current_thread().name) or own(*given))
    text = PUMPS if name == "pumps.md" else "pump,serviced every\nPump 17,90 days\n"
    with serving(filled(tmp_path, {name: text})) as url, httpx.Client(base_url=url) as client:
        assert "90 days" in opened(client, "How often is pump 17 serviced?")["html"]
    assert threads == ["groundgraph-blocking"]


def opened(client: httpx.Client, question: str) -> dict[str, Any]:
    """What the first citation of the answer leads to."""
    thread = client.post("/api/threads", json={"title": question}).json()["id"]
    lines = client.post(f"/api/threads/{thread}/turns", json={"question": question}).text.splitlines()
    return dict(client.get(f"/api/threads/{thread}/turns/{json.loads(lines[-1])['ended']}/citations/1").json())


def test_a_record_of_ones_own_is_shown_whole(tmp_path: Path):
    schema = {"fields": {"guest": {"type": "string"}, "fact": {"type": "text"}}, "content": ["fact"]}
    loaded = filled(tmp_path, {"pumps.md": PUMPS}, knowledge_base={"schemas": {"memories": schema}})
    with KnowledgeBase.open(loaded) as base:
        base.add_records("memories", [{"guest": "Ada", "fact": "The guest Ada plays the *oboe*.\nroom: 12"}])
    with serving(loaded) as url, httpx.Client(base_url=url) as client:
        html = opened(client, "What does the guest Ada play?")["html"]
    assert "".join(re.findall("<mark>(.*?)</mark>", html, re.DOTALL)).startswith("The guest Ada plays the *oboe*.")
    assert "room: 12" in html
