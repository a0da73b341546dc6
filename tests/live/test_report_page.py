"""The page of a turn in a real browser: clicks, keys, no request, hostile evidence, contrast, width, paper (V3)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from checked_models import checked
from chromium import until
from hostile_record import huge, poisoned, with_poisoned_names
from report_turns import QUOTE, english_turn, run_beside, russian_turn, turn_record

from groundgraph import InMemorySource, turn_page
from groundgraph.evals.model_check.figures import advised_settings
from groundgraph.report.turn_page import model_page

pytestmark = [pytest.mark.live, pytest.mark.covers("V3")]
WIDE, NARROW = {"width": 1360, "height": 900}, {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def pages(folder: Path) -> dict[str, str]:
    """The address of every page, by name."""

    async def records() -> dict[str, dict]:
        english, russian = await english_turn(), await russian_turn()
        hostile = {
            "poisoned": poisoned(english),
            "named": with_poisoned_names(english),
            "huge": huge(english, 40, 9000),
        }
        return {"english": english, "russian": russian, **hostile}

    addresses = {}
    for name, record in run_beside(records()).items():
        file = folder / f"{name}.html"
        file.write_text(turn_page(record), "utf-8")
        addresses[name] = file.as_uri()
    return addresses


ALL = ("english", "russian", "poisoned", "named", "huge")
HOSTILE = ALL[2:]


def focused(page) -> str:
    return page.evaluate("document.activeElement.id")


def marked_as_target(page) -> str:
    return page.evaluate("(document.querySelector('mark:target') || {}).textContent || ''")


def test_a_click_on_a_label_shows_the_passage_with_its_own_place_highlighted(chromium, pages):
    with chromium.opened(pages["english"], viewport=WIDE) as opened:
        page = opened.page
        assert page.locator("#q1").is_hidden()
        page.locator(".cite a").first.click()
        until(page, lambda: marked_as_target(page) == QUOTE)
        until(page, lambda: focused(page) == "q1")
        until(page, lambda: 0 < page.locator("#q1").bounding_box()["y"] < WIDE["height"] - 40)  # the place is in sight
        assert page.locator("#answer-h").is_visible()
        plain = page.evaluate("getComputedStyle(document.querySelectorAll('mark:not(:target)')[0]).backgroundColor")
        lit = page.evaluate("getComputedStyle(document.querySelector('mark:target')).backgroundColor")
        assert plain != lit != "rgba(0, 0, 0, 0)"
        page.locator(".claim", has_text="both approve").locator("a").click()
        until(page, lambda: marked_as_target(page).startswith("Early deletion of identification records needs"))
        until(page, lambda: page.locator('[aria-current="true"]').count() == 1)
        page.locator("#e1 .back a").nth(2).click()
        until(page, lambda: focused(page) == "c1-3")
        page.go_back()
        until(page, lambda: page.evaluate("location.hash") == "#q1-2")
        assert opened.quiet, (opened.requests, opened.console)


def test_a_finding_leads_to_its_sentence_and_back(chromium, pages):
    with chromium.opened(pages["english"], viewport=WIDE) as opened:
        opened.page.locator(".sign.warn").click()
        until(opened.page, lambda: focused(opened.page) == "f1")
        opened.page.locator("#f1 a").click()
        until(opened.page, lambda: focused(opened.page) == "s1")
        assert "kept for 12 years" in opened.page.locator(".claim.flagged").inner_text()


def test_without_scripts_a_label_shows_the_passage_too(chromium, pages):
    with chromium.opened(pages["english"], viewport=WIDE, java_script_enabled=False) as opened:
        opened.page.locator(".cite a").first.click()
        until(opened.page, lambda: opened.page.locator("#e1 details").get_attribute("open") is not None)
        until(opened.page, lambda: opened.page.locator("#q1").is_visible())
        assert opened.page.locator("button").count() == 0


def test_the_keyboard_reaches_answer_label_passage_and_all_passages(chromium, pages):
    with chromium.opened(pages["english"], viewport=WIDE) as opened:
        page = opened.page
        page.keyboard.press("Tab")
        until(page, lambda: page.evaluate("document.activeElement.className") == "skip")
        until(page, lambda: page.locator(".skip").bounding_box()["x"] > 0)
        page.keyboard.press("Enter")
        until(page, lambda: page.evaluate("location.hash") != "")
        page.keyboard.press("Tab")
        until(page, lambda: focused(page) == "c1-1")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        page.keyboard.press("Enter")
        until(page, lambda: focused(page) == "q1")
        button = page.locator("button")
        button.focus()
        page.keyboard.press("Enter")
        until(page, lambda: page.locator("details.whole:not([open])").count() == 0)
        until(page, lambda: button.inner_text() == "Close all passages")
        page.keyboard.press("Enter")
        until(page, lambda: page.locator("details.whole[open]").count() == 0)


@pytest.mark.covers("fault 65")
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_evidence_is_inert(chromium, pages, name):
    with chromium.opened(pages[name], viewport=WIDE) as opened:
        page = opened.page
        page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        labels = page.locator(".cite a")
        for at in range(min(4, labels.count())):
            labels.nth(at).click()
        page.evaluate(
            """() => {
                const events = ["mouseover", "mouseenter", "focus", "load", "error", "toggle", "animationend"];
                for (const one of document.querySelectorAll("body *"))
                    for (const name of events) one.dispatchEvent(new Event(name));
            }"""
        )
        page.wait_for_timeout(300)
        assert page.evaluate("window.pwned") is None
        assert page.evaluate("[...document.scripts].length") == 1
        assert page.url.split("#")[0] == pages[name]
        assert opened.quiet, (opened.requests, opened.console, opened.dialogs)
        assert not set("\u202e\u2066\x00") & set(page.content())


@pytest.fixture
def outside() -> Iterator[tuple[str, list[str]]]:
    """The address of a server on loopback, and the paths that it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


@pytest.mark.covers("fault 65")
def test_markup_that_got_in_all_the_same_could_neither_run_nor_reach_out(chromium, pages, outside):
    address, asked = outside
    with chromium.opened(pages["english"], viewport=WIDE) as opened:
        opened.page.evaluate(
            """(address) => {
                const made = document.createElement("div");
                made.innerHTML = `<img src="${address}/img" onerror="window.pwned = 1"><base href="${address}">
                    <iframe srcdoc="<script>top.pwned = 1<\\/script>"></iframe><style>body { display: none }</style>
                    <link rel="stylesheet" href="${address}/css"><form action="${address}/form"></form>
                    <video src="${address}/video"></video><object data="${address}/object"></object>`;
                const script = document.createElement("script");
                script.textContent = "window.pwned = 1";
                made.append(script);
                document.body.append(made);
                made.querySelector("form").submit();
                fetch(`${address}/fetch`).catch(() => {});
                navigator.sendBeacon(`${address}/beacon`);
            }""",
            address,
        )
        opened.page.wait_for_timeout(500)
        assert opened.page.evaluate("window.pwned") is None
        assert opened.page.locator("h1").is_visible()
        assert any("Content Security Policy" in line for line in opened.console)
        assert asked == []


# Of every text, the WCAG contrast ratio between its colour and the nearest opaque background behind it.
CONTRAST = """() => {
    const channel = (value) => { value /= 255;
        return value <= .03928 ? value / 12.92 : ((value + .055) / 1.055) ** 2.4; };
    const colour = (text) => text.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => .2126 * channel(r) + .7152 * channel(g) + .0722 * channel(b);
    const behind = (at) => {
        for (; at; at = at.parentElement) {
            const found = colour(getComputedStyle(at).backgroundColor);
            if (found.length < 4 || found[3] === 1) return found;
        }
        return [255, 255, 255];
    };
    document.querySelectorAll("details").forEach((one) => (one.open = true));
    const low = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node; (node = walk.nextNode()); ) {
        const at = node.parentElement;
        if (!node.textContent.trim() || !at.checkVisibility() || at.closest("script, style, .vh")) continue;
        const [a, b] = [light(colour(getComputedStyle(at).color)), light(behind(at))];
        const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        const named = `${at.tagName}.${at.className}: ${node.textContent.slice(0, 40)}`;
        if (ratio < 4.5) low.push(`${ratio.toFixed(2)} ${named}`);
    }
    return low;
}"""


@pytest.mark.parametrize("media", ["screen", "print"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["english", "russian", "poisoned"])
def test_every_text_has_enough_contrast(chromium, pages, name, scheme, media):
    with chromium.opened(pages[name], viewport=WIDE, color_scheme=scheme) as opened:
        opened.page.emulate_media(media=media, color_scheme=scheme)
        assert opened.page.evaluate(CONTRAST) == []
        paper = opened.page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        dark = sum(map(int, paper[4:-1].split(","))) < 200
        assert dark is (scheme == "dark" and media == "screen")


@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("name", ALL)
def test_nothing_is_wider_than_the_window(chromium, pages, name, viewport):
    with chromium.opened(pages[name], viewport=viewport) as opened:
        opened.page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]


def test_the_outline_and_the_names_of_things_are_there_for_those_who_do_not_see_the_page(chromium, pages):
    with chromium.opened(pages["english"], viewport=WIDE) as opened:
        page = opened.page
        levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map((one) => +one.tagName[1])")
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after - before <= 1 for before, after in zip(levels, levels[1:], strict=False))
        for role in ("banner", "navigation", "main", "contentinfo"):
            assert page.get_by_role(role).count() == 1, role
        assert page.get_by_role("region", name="Please note").count() == 1
        assert page.get_by_role("article", name="Anti-money-laundering manual").count() == 1
        unnamed = (
            "[...document.querySelectorAll('a, button, summary')].filter((one) => !(one.innerText || one.ariaLabel))"
        )
        assert page.evaluate(f"{unnamed}.length") == 0


def printed(chromium, address: str, **options) -> list[str]:
    """The text of each page on paper."""
    import pypdfium2

    with chromium.opened(address, viewport=WIDE, color_scheme="dark", **options) as opened:
        document = pypdfium2.PdfDocument(opened.page.pdf(format="A4"))
    try:
        return [" ".join(page.get_textpage().get_text_bounded().split()) for page in document]
    finally:
        document.close()


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no_scripts"])
def test_on_paper_stands_every_cited_passage_and_no_control(chromium, pages, scripts):
    sheets = printed(chromium, pages["english"], java_script_enabled=scripts)
    text = " ".join(sheets)
    assert len(sheets) <= 4
    assert QUOTE in text
    assert "Copies of identity documents, the results of screening" in text, "passages are printed open"
    assert "Deletion of marketing records" in text
    assert "12 years does not stand in the evidence" in text
    assert "could not be searched" in text
    assert "Open all passages" not in text
    assert "Skip to the answer" not in text


def test_a_long_passage_goes_on_on_the_next_sheet(chromium, pages, folder):
    text = "\n".join(f"Line {number} of the long passage about records." for number in range(200))
    source = InMemorySource([{"id": "long", "content": text}], name="long")
    record = run_beside(turn_record([source], "Which line of the long passage is about records?"))
    (folder / "long.html").write_text(turn_page(record), "utf-8")
    sheets = " ".join(printed(chromium, (folder / "long.html").as_uri()))
    assert all(f"Line {number} of" in sheets for number in range(200))


@pytest.mark.covers("U11")
@pytest.mark.parametrize("width", [320, 1200])
def test_the_page_of_a_checked_model_is_quiet_and_fits(chromium, tmp_path, width):
    check = run_beside(asyncio.to_thread(checked, "sloppy"))
    found = {**check.to_dict(), "advice": advised_settings(check, None), "below": ["form"]}
    found["wrong"][0]["reply"] = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    (tmp_path / "check.html").write_text(model_page(found), "utf-8")
    with chromium.opened(f"file://{tmp_path}/check.html", viewport={"width": width, "height": 800}) as opened:
        assert opened.quiet
        assert "onerror" in opened.page.inner_text("#wrong")
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
