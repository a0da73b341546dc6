"""The page of a turn, without a browser: what stands in it, that it is inert, and its size (V3, fault 65)."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from html.parser import HTMLParser

import pytest
from hostile_record import PAYLOADS, huge, poisoned, with_poisoned_names
from report_turns import QUESTION, QUOTE, english_turn, policies, russian_turn, turn_record

from groundgraph import InMemorySource, load_settings, turn_graph, turn_page, turn_text
from groundgraph.core.failure import degraded_by
from groundgraph.prompts import Prompts
from groundgraph.report.turn_page import MAX_BYTES
from groundgraph.report.words import Words, plain
from groundgraph.testing import FaultySource, Reply, ScriptedChatModel
from groundgraph.text.words import LANGUAGES

pytestmark = pytest.mark.covers("V3")

TAGS = {
    *("html", "head", "meta", "title", "style", "body", "header", "nav", "main", "section", "article", "footer"),
    *("a", "p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "dl", "dt", "dd", "div", "span", "strong", "em"),
    *("i", "bdi", "code", "pre", "blockquote", "cite", "mark", "details", "summary", "table", "thead", "tbody", "tr"),
    *("th", "td", "svg", "rect", "script", "hr", "template"),
}  # fmt: skip


class Elements(HTMLParser):
    """Every start tag with its attributes, and the text outside of style and script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.raw: dict[str, str] = {}
        self._inside = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, {name: value or "" for name, value in attrs}))
        self._inside = tag if tag in ("style", "script") else ""

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside:
            self.raw[self._inside] = self.raw.get(self._inside, "") + data
        else:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())


def check_inert(page: str) -> Elements:
    """Nothing but the page's own elements, and no way out of it."""
    elements = Elements(page)
    assert {tag for tag, _ in elements.found} <= TAGS
    for once in ("html", "head", "body", "title", "style", "script", "main", "template"):
        assert [tag for tag, _ in elements.found].count(once) == 1, once
    for _, attributes in elements.found:
        assert not any(name.startswith("on") or name in ("style", "src", "srcdoc", "action") for name in attributes)
        assert attributes.get("href", "#").startswith("#")
    [policy] = [a["content"] for _, a in elements.found if a.get("http-equiv") == "Content-Security-Policy"]
    digests = {
        name: base64.b64encode(hashlib.sha256(elements.raw[name].encode()).digest()).decode()
        for name in ("style", "script")
    }
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digests['style']}'; script-src 'sha256-{digests['script']}'; "
        "base-uri 'none'; form-action 'none'"
    )
    assert not re.search(r"url\(|@import|fetch\(|XMLHttp|WebSocket|sendBeacon|import\(", "".join(elements.raw.values()))
    ids = [attributes["id"] for _, attributes in elements.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {attributes["href"][1:] for tag, attributes in elements.found if tag == "a"}
    assert targets <= set(ids), "every link leads somewhere"
    return elements


async def test_the_page_holds_question_path_queries_evidence_answer_and_what_went_wrong():
    record = await english_turn()
    text = check_inert(turn_page(record)).text
    for expected in (
        QUESTION, "Answered", 'The source "tickets" could not be searched: ConnectionError: it cannot be reached',
        "Number not supported",
        "12 years does not stand in the evidence", QUOTE, "Anti-money-laundering manual > 4 Record keeping",
        "characters 18394–18495 of page 31", "resolve_intent", "retrieve_source", "check_citations",
        "retention period identification records", "language", "deletion_register", "too far behind the best result",
        "Deletion of marketing records", "0.89", "scripted", record["turn_id"], "audit-2026-031",
        "https://intranet.example/register/118", "not cited" if record["results"][2:] else "Left out on the way",
    ):  # fmt: skip
        assert expected in text, expected


async def test_the_same_record_gives_the_same_page_and_json_does_not_change_it():
    record = await english_turn()
    assert turn_page(record) == turn_page(json.loads(json.dumps(record)))


async def test_the_page_speaks_the_language_of_the_turn_unless_told_otherwise():
    record = await russian_turn()
    page = turn_page(record)
    assert '<html lang="ru">' in page
    assert "Обратите внимание" in page
    assert "Please note" not in page
    assert "Please note" in turn_page(record, language="en")
    assert '<html lang="en">' in turn_page({**record, "language": "nl"})
    assert '<html lang="ru">' in turn_page({name: value for name, value in record.items() if name != "language"})


async def test_the_words_can_be_replaced_by_a_folder_of_ones_own(tmp_path):
    source = Prompts().source("report.en").replace("Please note", "<b>Mind</b> {{ 6 * 7 }}")
    (tmp_path / "report.en.jinja2").write_text(source, "utf-8")
    page = turn_page(await english_turn(), settings=load_settings({"prompts": {"path": str(tmp_path)}}))
    assert "&lt;b&gt;Mind&lt;/b&gt; 42" in page


@pytest.mark.covers("A9")
@pytest.mark.parametrize("turn", [english_turn, russian_turn])
async def test_no_measure_is_a_percentage(turn):
    text = check_inert(turn_page(await turn())).text
    assert not re.search(r"\d\s?%", text)
    measures = ("the evidence says", "стоит в источниках")
    assert re.search(rf"({'|'.join(measures)}) ?(most|much|little|почти всё|многое|немногое)", text)


def test_every_language_has_the_same_words():
    macros = {
        name: dict(re.findall(r"{% macro (\w+)\((.*?)\) %}", Prompts().source(f"report.{name}"))) for name in LANGUAGES
    }
    assert macros["ru"] == macros["en"]
    prompts = Prompts()
    for language in LANGUAGES:
        for kind, names in macros[language].items():
            assert (
                Words(prompts, language)(kind, **{name: "x" for name in names.split(", ") if name}) or "name" in names
            )


@pytest.mark.parametrize("kind", ["chat", "unavailable", "insufficient", "empty"])
async def test_turns_without_evidence_have_a_page_too(kind):
    down = FaultySource(InMemorySource(["x"], name="down"), error=OSError("gone"))
    sources, question = {
        "chat": ([policies()], "Hello!"),
        "unavailable": ([down], "How long are records kept?"),
        "insufficient": ([policies()], "Who painted Guernica?"),
        "empty": ([policies()], " "),
    }[kind]
    record = await turn_record(sources, question, limits={"attempts": 1})
    assert record["outcome"] == ("chat" if kind == "empty" else kind)
    text = check_inert(turn_page(record)).text
    assert "The answer cites no evidence." in text
    assert ("OSError" in text) is (kind == "unavailable")
    assert "gone" not in text
    assert turn_text(record)


@pytest.mark.covers("fault 101")
async def test_a_reader_is_told_the_class_of_a_failure_and_the_record_its_text():
    class Degraded(InMemorySource):
        async def query(self, *args, **kwargs):
            degraded_by("half", "reranker", RuntimeError("no route to db.internal"))
            return await super().query(*args, **kwargs)

    down = FaultySource(InMemorySource(["x"], name="down"), error=RuntimeError("db.internal: /home/secret/path"))
    half, model = Degraded(["Records are kept for five years."], name="half"), ScriptedChatModel(
        Reply("", error=ValueError("db.internal refused"))
    )  # fmt: skip
    graph = turn_graph(
        load_settings({"limits": {"attempts": 1}, "intent": {"mode": "static"}}), sources=[down, half], chat_model=model
    )
    output = await graph.ainvoke({"question": "How long are records kept?"})
    record = output["provenance"]
    assert json.dumps([record["sources"], record["models"]]).count("db.internal") == 3
    for shown in (turn_page(output), turn_text(output)):
        assert "db.internal" not in shown
        assert "/home/secret" not in shown
        assert "RuntimeError" in shown
        assert "ValueError" in shown


def test_a_record_with_the_fewest_keys_has_a_page():
    record = {
        "turn_id": "t", "question": "Why?", "outcome": "answered", "answer": "So.", "style": {"used": "fixed"},
        "finish": "stop", "intent": {}, "sources": {}, "results": [], "results_by_source": {}, "total_results": 0,
        "deduplicated_to": 0, "repaired": False, "citation_check": {}, "notes": [],
    }  # fmt: skip
    check_inert(turn_page(record))
    assert "So." in turn_text({**record, "thread_id": None, "models": []})


@pytest.mark.covers("fault 65")
@pytest.mark.parametrize("change", [poisoned, with_poisoned_names])
async def test_whatever_stands_in_a_record_is_text(change):
    record = change(await english_turn())
    page = turn_page(record)
    elements = check_inert(page)
    for payload in PAYLOADS[:4]:
        assert payload in elements.text
    assert "<script>window" not in page
    assert not set("\u202e\u2066\u2069\u200b\U000e0041\x1b\x00\x9b\ud800") & set(page)
    assert "U+202E" in elements.text
    assert len(page.encode()) <= MAX_BYTES
    assert not set("\u202e\u2066\x1b\x00\x9b\ud800") & set(turn_text(record))


@pytest.mark.covers("fault 65")
@pytest.mark.parametrize("place", [at for at, payload in enumerate(PAYLOADS) if "\ud800" not in payload])
async def test_a_question_is_text_in_the_title_as_well(place):
    payload = PAYLOADS[place]
    record = {**await english_turn(), "question": payload, "answer": payload, "notes": [payload]}
    elements = check_inert(turn_page(record))
    assert elements.text.count(" ".join(plain(payload[:60]).split())) >= 2 or "U+" in plain(payload)


async def test_a_huge_record_is_cut_to_the_limit_and_says_so_with_every_shown_quote_in_its_place():
    record = huge(await english_turn(), passages=60, characters=4000)
    page = turn_page(record)
    assert MAX_BYTES / 3 < len(page.encode()) <= MAX_BYTES
    elements = check_inert(page)
    assert "To keep this page within 300 kB" in elements.text
    assert "characters not shown" in elements.text
    marks = re.findall(r'<mark id="q(\d+)" tabindex="-1">(.*?)</mark>', page)
    assert len(marks) >= 4
    assert all(html.unescape(text) == f"The quote {label} stands here." for label, text in marks)


async def test_a_record_that_fits_is_shown_whole():
    record = await english_turn()
    page = turn_page(record)
    assert len(page.encode()) < 60_000
    assert "To keep this page within" not in page
    assert "characters not shown" not in page
