"""What a reader does on the page beside asking: giving documents, deciding, taking along; and what must stay inert."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hostile_pdf
import httpx
import pytest
from chromium import Browser, Opened, until
from opened_page import ask, page_of, send
from page_servers import (
    HOSTILE,
    PRODUCTS,
    QUESTION,
    Written,
    handbook,
)
from served import PUMPS, filled, serving
from two_users import users_file
from yaml import safe_load

from groundgraph.serve import page_api, request
from groundgraph.serve.app import Served
from groundgraph.serve.gate import POLICY
from groundgraph.serve.users import Users

pytestmark = [pytest.mark.live, pytest.mark.covers("U8")]

# What a route fulfils has ended, and is told to be broken off.
UNENDED = """body => {
    const real = fetch, begun = { start: (stream) => stream.enqueue(new TextEncoder().encode(body)) };
    window.fetch = async (path, given) =>
        path.endsWith("/turns") ? new Response(new ReadableStream(begun)) : real(path, given);
}"""
DROP = """([files]) => {
    const data = new DataTransfer();
    for (const [name, text] of files) data.items.add(new File([text], name));
    for (const kind of ["dragover", "drop"])
        document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


def test_documents_that_are_dropped_are_taken_in_or_refused_with_a_reason(page: Any, folder: Path):
    before = {path.name for path in (folder / "docs").iterdir()}
    cranes = ["cranes.md", "# Cranes\n\nThe crane of hall 7 is moved by hand.\n"]
    page.evaluate(DROP, [[cranes, ["run.exe", "MZ"], ["broken.pdf", "%PDF"], ["<img src=x>.md", "# X"]]])
    until(page, lambda: page.locator("#uploads .state", has_text="Waits").count() == 0)
    until(page, lambda: page.locator("#uploads progress").count() == 0)
    told = dict(zip(*(page.locator(f"#uploads {part}").all_inner_texts() for part in ("bdi", ".state")), strict=True))
    assert told["cranes.md"] == "Taken in: 1 passage."
    assert "not read" in told["run.exe"]
    assert "PDF" in told["broken.pdf"]
    assert "cannot have this name" in told["<img src=x>.md"]
    assert page.locator("#uploads img").count() == 0
    assert page.locator(".dropping").is_hidden()
    assert {path.name for path in (folder / "docs").iterdir()} == {*before, "cranes.md"}
    page.locator("#uploads").get_by_label("Close").click()
    assert "by hand" in ask(page, "How is the crane of hall 7 moved?").locator(".prose").inner_text()


def test_a_page_that_is_drawn_for_ever_is_shown_as_text_and_holds_up_no_other(chromium: Browser, tmp_path: Path):
    winch = hostile_pdf.of_tiles("The winch of hall 8 lifts 77 kilograms.")
    loaded = filled(
        tmp_path, {"winch.pdf": winch, "handbook.pdf": handbook()}, knowledge_base={"reader": {"seconds": 2}}
    )
    with serving(loaded) as address, page_of(chromium, address) as opened:
        page = opened.page
        endless = ask(page, "What does the winch of hall 8 lift?").locator(".cite a").first
        other = ask(page, "At how many revolutions per minute runs compressor C4?").locator(".cite a").first
        endless.click()
        page.locator(".passage mark", has_text="lifts 77 kilograms").wait_for(timeout=15_000)
        assert page.locator(".passage img").count() == 0
        endless.click()
        other.click()
        until(page, lambda: page.locator(".sheet img").evaluate("image => image.naturalWidth") > 500)


def test_where_nothing_is_taken_a_drop_does_nothing(page: Any, opened: Opened, written: Written):
    page.evaluate(DROP, [[["valves.md", "# Valves"]]])
    assert page.get_by_text("Add documents").count() == 0
    assert [url for url in opened.requests if "/api/documents" in url] == []
    assert httpx.put(f"{written.address}/api/documents/valves.md", content=b"# Valves").status_code == 404


@pytest.mark.covers("U3")
def test_an_answer_that_waits_is_decided_on_the_page(page: Any, written: Written):
    ask(page, "When is the filter of pump 17 changed?", ".decision")
    # It waits also for whoever comes later.
    page.reload()
    page.locator(".decision").wait_for()
    assert "cheese" in page.locator(".held").inner_text()
    assert "Pump 17 is serviced every" in page.locator(".held-evidence").inner_text()
    page.get_by_role("button", name="Change its words").click()
    field = page.get_by_label("The answer in your words")
    field.fill("Pump 17 is serviced every 90 days [7].")
    page.get_by_role("button", name="Change its words").click()
    page.locator(".decision .failed", has_text="[7] refers to no evidence").wait_for()
    page.get_by_role("button", name="Change its words").click()
    field.fill("Pump 17 is serviced every 90 days [1].")
    page.get_by_role("button", name="Change its words").click()
    page.locator(".turn footer").wait_for()
    assert page.locator(".prose").inner_text().startswith("Pump 17 is serviced every 90 days")
    assert page.locator(".turn").get_attribute("data-outcome") == "answered"
    ask(page, "Where does pump 18 stand?", ".decision")
    page.get_by_role("button", name="Withhold it").click()
    page.locator(".turn:last-child footer").wait_for()
    assert "cheese" not in page.locator(".turns").inner_text()
    assert page.evaluate("window.ran") is None


@pytest.mark.covers("U3")
def test_an_answer_that_another_window_decided_about_is_shown_as_it_was_decided(
    page: Any, chromium: Browser, written: Written
):
    ask(page, "When is the filter of pump 17 changed?", ".decision")
    with page_of(chromium, page.url) as late:
        late.page.locator(".decision").wait_for()
        page.get_by_role("button", name="Withhold it").click()
        page.locator(".turn footer").wait_for()
        late.page.get_by_role("button", name="Send as it is").click()
        late.page.locator(".failed", has_text="Nobody has to decide about this answer.").wait_for()
        late.page.get_by_text("Try again").click()
        late.page.locator(".turn footer").wait_for()
        assert "cheese" not in late.page.locator(".turns").inner_text()


def test_what_a_turn_asks_back_is_answered_by_a_button(page: Any, written: Written):
    article = ask(page, "How long does the warranty of the pump last?")
    assert article.get_attribute("data-outcome") == "clarify"
    assert set(article.get_by_label("What did you mean?").locator("button").all_inner_texts()) == set(PRODUCTS)
    edge = article.locator(".body").evaluate("body => getComputedStyle(body).borderInlineStartWidth")
    assert edge == "4px"
    page.get_by_role("button", name="Pump Orion", exact=True).click()
    page.locator(".turn:nth-child(2) footer").wait_for()
    assert page.locator(".asked").last.inner_text() == "Pump Orion"
    assert "two years" in page.locator(".prose").last.inner_text()
    assert page.evaluate("window.ran") is None


def test_a_turn_is_copied_and_a_conversation_taken_along(chromium: Browser, address: str):
    with page_of(chromium, address, permissions=["clipboard-read", "clipboard-write"]) as opened:
        page = opened.page
        article = ask(page, QUESTION)
        article.get_by_label("Copy as Markdown").click()
        until(page, lambda: page.locator("#announced").inner_text() == "Copied.")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith(f"**{QUESTION}**\n")
        assert "[^1]\n" in copied
        assert "[^1]: docs/pumps.md:5: “Pump 17 is serviced every **90 days**." in copied
        row = page.locator("#threads li").first
        row.hover()
        row.get_by_label(f"Take along: {QUESTION}").click()
        taken = {}
        for kind in ("Markdown", "JSON"):
            with page.expect_download() as download:
                page.get_by_role("link", name=kind).click()
            taken[kind] = Path(download.value.path()).read_text("utf-8")
            assert download.value.suggested_filename == f"conversation.{'md' if kind == 'Markdown' else 'json'}"
        assert taken["Markdown"].startswith(f"# {QUESTION}\n")
        assert json.loads(taken["JSON"])["turns"][0]["outcome"] == "answered"


def test_it_is_told_which_source_is_late_or_down_and_what_was_left_out(page: Any, written: Written):
    with written.model.held():
        send(page, QUESTION)
        for told in (
            "Looking up",
            "knowledge_base: 1 passage",
            "down did not answer",
            "slow took too long, so it was left out",
        ):
            page.locator(".steps li", has_text=told).wait_for()
    page.locator(".turn footer").wait_for()
    assert page.locator(".notes.alert").count() == 1
    stages = [{"stage": "merge_results", "results": 3}, {"stage": "judge_evidence", "results": 1}]
    events = [*({"stage": stage} for stage in stages), {"text": "Pump 18 "}, {"text": "is retired"}]
    body = "".join(json.dumps(event) + "\n" for event in events)
    page.evaluate(UNENDED, body)
    ask(page, "And pump 18?", ".steps li")
    assert page.locator(".steps li").last.inner_text() == "1 of 3 passages fit; the others are left out"
    # The answer is seen as it is written, before it has ended.
    until(page, lambda: page.locator(".writing").inner_text() == "Pump 18 is retired")


def test_what_is_found_in_hostile_titles_answers_and_names_is_inert(chromium: Browser, written: Written):
    answer = httpx.get(f"{written.address}/")
    assert answer.headers["content-security-policy"] == POLICY
    assert "unsafe" not in POLICY
    narrow = {"width": 400, "height": 800}
    with page_of(chromium, written.address, viewport=narrow) as opened:
        page = opened.page
        article = ask(page, f"How often is fan 5 oiled? {HOSTILE}")
        assert page.evaluate("document.documentElement.scrollWidth") == narrow["width"]
        article.locator(".cite a").first.focus()
        article.locator(".cite a").first.click()
        page.locator(".document mark").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") == narrow["width"]
        page.evaluate(
            """() => {
                for (const one of document.querySelectorAll("body *"))
                    for (const name of ["mouseover", "focus", "load", "error", "toggle", "animationend"])
                        one.dispatchEvent(new Event(name));
            }"""
        )
        page.wait_for_timeout(200)
        assert page.evaluate("window.ran") is None
        inside = ".turns, .passage, #threads, #hint"
        for tag in ("script", "img", "iframe", "object", "svg[onload]", "[onerror]"):
            assert page.locator(inside).locator(tag).count() == 0, tag
        assert page.locator("a[href^=javascript], a[href*=evil]").count() == 0
        assert page.evaluate("[...document.scripts].length") == 1
        assert opened.console == []
        # What turns letters round is shown as what it is.
        assert "\u202e" not in page.locator(".document").inner_text()


def test_languages_that_are_made_up_are_not_kept():
    assert request.words("x1") is request.words("x2") is request.words("en")
    asked = {"type": "http", "path": "/", "query_string": b"language=../../x", "headers": [(b"accept-language", b"ru")]}
    assert request.language_of(asked) == "en"
    assert request.language_of({**asked, "query_string": b""}) == "ru"


def test_another_language_is_one_more_file(chromium: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    known = request.words("en")
    words = {**known, "language": "pt", "languages": ["en", "pt", "ru"], "new": "Nova conversa"}
    own = request.words
    for module in (request, page_api):
        monkeypatch.setattr(module, "words", lambda language: words if language == "pt" else own(language))
    with (
        serving(filled(tmp_path, {"pumps.md": PUMPS})) as address,
        page_of(chromium, address, locale="pt-BR") as opened,
    ):
        assert opened.page.get_by_text("Nova conversa").count() == 1
        assert opened.page.locator("html").get_attribute("lang") == "pt"


@pytest.mark.parametrize("language", request.words("en")["languages"])
def test_a_language_has_every_word_with_the_same_places_to_fill(language: str):
    folder = Path(request.__file__).parent / "words"
    english, own = (safe_load((folder / f"{name}.yaml").read_text("utf-8")) for name in ("en", language))
    missing = {name for name in english if name not in own and not name.startswith("language_")}
    assert missing == set()
    for name, text in own.items():
        filled_in = {part.partition("}")[0] for part in text.split("{")[1:]}
        assert filled_in == {part.partition("}")[0] for part in english[name].split("{")[1:]}, name


def test_a_screen_reader_is_told_what_happens(page: Any):
    assert page.locator("#announced").get_attribute("aria-live") == "polite"
    article = ask(page, QUESTION)
    until(page, lambda: page.locator("#announced").inner_text().startswith("Answered. "))
    assert "Pump 17 is serviced every" in page.locator("#announced").inner_text()
    article.locator(".cite a").first.click()
    until(page, lambda: page.locator("#announced").inner_text().startswith("Passage: Pumps"))
    assert page.evaluate("document.activeElement.className") == "passage"
    names = page.evaluate("[...document.querySelectorAll('button, a[href], input:not([hidden]), textarea, select')]"
        ".filter((one) => !(one.ariaLabel || one.textContent.trim())).length")  # fmt: skip
    assert names == 0


def test_what_the_server_tells_stands_among_the_words_as_it_says_it():
    package = Path(request.__file__).parent
    said = "".join(file.read_text("utf-8") for file in (*package.glob("*.py"), package.parent / "ingest/load_pdf.py"))
    told = {name: text for name, text in request.words("en").items() if name.startswith(request.TOLD)}
    assert len(told) > 8
    assert [name for name, text in told.items() if f'"{text}"' not in said] == []


def test_a_window_follows_whoever_signs_in_or_out_in_another(chromium: Browser, tmp_path: Path):
    loaded = filled(tmp_path, {"pumps.md": PUMPS})
    served = Served(Users.of(None, users_file(tmp_path)), each_minute=1_000_000)
    with serving(loaded, served) as address, page_of(chromium, address) as opened:
        page, other = opened.page, opened.page.context.new_page()
        other.goto(address)
        other.locator(".sign-in").wait_for()
        for name in ("alice", "bob"):
            page.fill("input", f"{name}-token")
            page.keyboard.press("Enter")
            for window in (page, other):
                window.locator("#threads footer bdi", has_text=name).wait_for()
            page.get_by_text("Sign out").click()
            for window in (page, other):
                window.locator(".sign-in").wait_for()
