"""The page in Debian's Chromium: what a reader sees and does, and that nothing of others runs there."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from chromium import Browser, Opened, until
from opened_page import REFUSAL, ask, begin, forget, forget_all, page_of, send
from page_servers import (
    HOSTILE,
    QUESTION,
    Written,
)

pytestmark = [pytest.mark.live, pytest.mark.covers("U8")]

# The stream of an answer stays open behind what it told, until `window.end` is called.
OPEN_YET = """() => {
    const real = fetch;
    window.fetch = async (...asked) => {
        const answer = await real(...asked);
        const open = new TransformStream({ flush: () => new Promise((end) => { window.end = end; }) });
        return String(asked[0]).includes("/turns") ? new Response(answer.body.pipeThrough(open)) : answer;
    };
}"""

# How often the server has answered about the conversations as a whole.
HEARD_OF_CONVERSATIONS = """
    performance.getEntriesByType("resource").filter((one) => one.name.endsWith("/api/threads")).length
"""


def passage(article: Any) -> Any:
    article.locator(".cite a").first.click()
    return article.page.locator(".passage .document")


def test_a_citation_shows_its_quote_and_opens_the_document_at_the_passage(page: Any, opened: Opened):
    article = ask(page, QUESTION)
    assert article.locator(".outcome").inner_text().startswith("Answered")
    article.locator(".cite a").first.hover()
    assert "Pump 17 is serviced every **90 days**" in page.locator("#hint").inner_text()
    document = passage(article)
    document.wait_for()
    assert document.locator("mark").all_inner_texts()[:2] == ["Pump 17 is serviced every ", "90 days"]
    assert document.locator("h2").inner_text() == "Pumps"
    assert page.locator(".passage .place").inner_text().strip() == "docs/pumps.md:5"
    assert article.locator(".cite a").first.get_attribute("aria-current") == "true"
    page.keyboard.press("Escape")
    assert not page.locator(".passage").is_visible()
    assert page.evaluate("document.activeElement.dataset.label") == "1"
    assert opened.console == []


def test_tables_texts_web_pages_and_pages_of_a_pdf_open_at_the_passage(page: Any, opened: Opened):
    table = passage(ask(page, "What is the stock of seal S11?"))
    table.wait_for()
    assert table.locator("tr.lit").inner_text().split() == ["seal", "S11", "33"]
    boiler = ask(page, "When was the boiler B2 inspected?")
    text = passage(boiler)
    text.locator("mark").first.wait_for()
    assert "inspected in May 2024" in " ".join(text.locator("mark").all_inner_texts())
    boiler.locator(".cite a").first.focus()
    assert "Itohara, who found no fault" in page.locator("#hint p").inner_text()
    lamps = passage(ask(page, "Which colour have the lamps of hall 4?"))
    lamps.locator("mark", has_text="The lamps of hall 4 are green").wait_for()
    assert lamps.locator("a, img, script, style, [onclick]").count() == 0
    assert (lamps.locator("h2").inner_text(), page.evaluate("window.ran")) == ("Lamps", None)
    sheet = passage(ask(page, "At how many revolutions per minute runs compressor C4?"))
    sheet.locator("img").wait_for()
    until(page, lambda: page.locator(".sheet img").evaluate("image => image.naturalWidth") > 500)
    assert page.locator(".sheet img").get_attribute("alt") == "Page 2 of handbook"
    # At once: the page goes to the place when the picture has come.
    box, whole = page.evaluate(
        "['.boxes rect', '.sheet'].map((one) => document.querySelector(one).getBoundingClientRect().toJSON())"
    )
    # The line stands 700 points above the foot of a page of 842, 72 from its left.
    assert (box["x"] - whole["x"]) / whole["width"] == pytest.approx(72 / 595, abs=0.02)
    assert (box["y"] - whole["y"]) / whole["height"] == pytest.approx(1 - 710 / 842, abs=0.02)
    assert opened.console == []


def test_hostile_documents_and_titles_are_inert(page: Any, opened: Opened):
    document = passage(ask(page, f"Who opens the valve of hall 9? {HOSTILE}"))
    document.wait_for()
    assert "onerror=window.ran=1" in document.inner_text()
    for place in (".document", ".turns", "#threads"):
        assert page.locator(f"{place} script, {place} img, {place} iframe").count() == 0
    assert page.locator("a[href*=evil]").count() == 0
    assert page.evaluate("window.ran") is None
    assert opened.console == []


def test_another_outcome_looks_different(page: Any):
    article = ask(page, "Who wrote the opera Parsifal?")
    assert article.get_attribute("data-outcome") == "insufficient"
    assert "Not covered" in article.locator(".outcome").inner_text()
    assert "does not answer the question" in article.locator(".outcome").inner_text()
    edge = article.locator(".body").evaluate("body => getComputedStyle(body).borderInlineStartWidth")
    assert edge == "4px"


def test_a_question_that_is_changed_begins_a_branch_and_branches_are_walked(page: Any):
    ask(page, QUESTION)
    ask(page, "And pump 18?")
    first = page.locator(".turn").first
    first.get_by_label("Change the question").click()
    page.fill(".editing textarea", "Where does pump 18 stand?")
    page.keyboard.press("Enter")
    page.locator(".branches").wait_for()
    until(page, lambda: page.locator(".turn footer").count() == 1)
    assert page.locator(".branches").inner_text() == "2/2"
    page.get_by_label("Wording before").click()
    until(page, lambda: page.locator(".turn footer").count() == 2)
    assert page.locator(".asked").all_inner_texts() == [QUESTION, "And pump 18?"]
    page.reload()
    until(page, lambda: page.locator(".turn footer").count() == 1)
    assert page.locator(".asked").inner_text() == "Where does pump 18 stand?"


@pytest.mark.covers("U13")
def test_a_mark_with_a_comment_stays_with_the_turn(page: Any):
    article = ask(page, QUESTION)
    article.get_by_label("Something is wrong with this answer").click()
    article.locator(".comment").fill("It is 60 days.")
    # That it is kept was told of the mark alone before: a page that is loaded anew meanwhile breaks this off.
    with page.expect_response(lambda answer: "60 days" in (answer.request.post_data or "")):
        article.locator(".comment").blur()
    assert page.locator("#announced").inner_text() == "Kept."
    page.reload()
    comment = page.locator(".comment")
    comment.wait_for()
    assert comment.input_value() == "It is 60 days."
    assert page.get_by_label("Something is wrong with this answer").get_attribute("aria-pressed") == "true"


def test_a_mark_that_is_not_kept_is_told(page: Any):
    article = ask(page, QUESTION)
    page.route("**/mark", lambda route: route.abort())
    good = article.get_by_label("This answer helps")
    good.click()
    article.locator(".failed", has_text="The server cannot be reached.").wait_for()
    assert good.get_attribute("aria-pressed") == "false"
    page.unroute_all()
    good.click()
    article.locator(".failed").wait_for(state="hidden")
    assert good.get_attribute("aria-pressed") == "true"


def test_conversations_are_listed_searched_and_forgotten(forgotten: None, page: Any):
    for question in (QUESTION, "Where does pump 18 stand?"):
        begin(page)
        ask(page, question)
    titles = page.locator("#threads li bdi")
    until(page, lambda: titles.count() == 2)
    assert titles.all_inner_texts() == ["Where does pump 18 stand?", QUESTION]
    page.fill("#threads input[type=search]", "often")
    assert titles.all_inner_texts() == [QUESTION]
    titles.first.click()
    until(page, lambda: page.locator(".asked").all_inner_texts() == [QUESTION])
    forget(page, QUESTION)
    # The dialog gives the focus back when it closes: a field that is emptied meanwhile would miss its key.
    until(page, lambda: titles.count() == 0)
    page.fill("#threads input[type=search]", "")
    until(page, lambda: titles.all_inner_texts() == ["Where does pump 18 stand?"])


def test_a_conversation_that_cannot_be_shown_is_told_and_no_other_takes_its_place(
    forgotten: None, page: Any, address: str
):
    rows = page.locator("#threads a")
    ask(page, QUESTION)
    here = page.url
    begin(page)
    page.route(f"**/api/threads/{here.rpartition('/')[2]}", lambda route: route.abort())
    rows.click()
    page.locator(".failed", has_text="The server cannot be reached.").wait_for()
    assert (page.url, page.locator(".composer textarea").is_disabled()) == (here, True)
    page.unroute_all()
    page.keyboard.press("Enter")
    page.locator(".turn footer").wait_for()
    begin(page)
    # As another window forgets it.
    forget_all(address)
    page.go_back()
    page.locator(".failed", has_text="There is no such conversation").wait_for()
    assert page.url == here
    until(page, lambda: rows.count() == 0)
    page.keyboard.press("Enter")
    page.locator(".welcome").wait_for()
    assert page.url == f"{address}/"


def test_an_answer_of_which_nothing_is_kept_cannot_be_tried_again(page: Any):
    again = page.get_by_text("Try again")
    ask(page, QUESTION)
    page.route("**/turns/*", lambda route: route.abort())
    page.reload()
    page.locator(".failed", has_text="cannot be reached").wait_for()
    assert again.count() == 1
    page.unroute_all()
    gone = {"status": 404, "json": {"error": "What was kept of this answer is not there any more."}}
    page.route("**/turns/*", lambda route: route.fulfill(**gone))
    again.click()
    page.locator(".failed", has_text="not there any more").wait_for()
    assert again.count() == 0


def test_a_conversation_that_another_window_forgot_can_be_forgotten(forgotten: None, page: Any, address: str):
    ask(page, QUESTION)
    forget_all(address)
    page.locator("#threads li").hover()
    forget(page, QUESTION)
    page.get_by_text("Your conversations will stand here.").wait_for()
    assert page.locator("#threads .failed:visible").count() == 0


def test_stages_and_the_answer_are_seen_as_they_happen_and_an_answer_can_be_stopped(page: Any, written: Written):
    with written.model.held():
        send(page, QUESTION)
        page.locator(".steps li", has_text="knowledge_base: 1 passage").wait_for()
        page.get_by_label("Stop").click()
        page.get_by_text("You stopped this answer.").wait_for()
    page.get_by_text("Try again").click()
    page.locator(".turn footer").wait_for()
    # A sentence of which the evidence holds nothing is told from one that it holds.
    assert page.locator(".claim.flagged").inner_text().startswith("It costs 400 euros")
    assert page.locator(".sign.good").count() == 1
    page.locator(".sign.warn").first.click()
    assert page.locator(".findings li").first.is_visible()


@pytest.mark.parametrize("where", ["another conversation", "a new one"])
def test_whoever_leaves_while_an_answer_comes_is_where_they_went(
    forgotten: None, page: Any, written: Written, where: str
):
    current = page.locator("#threads a[aria-current]")
    ask(page, "How often is fan 5 oiled?")
    first = page.url
    begin(page)
    with written.model.held():
        send(page, QUESTION)
        page.locator(".steps li", has_text="knowledge_base").first.wait_for()
        until(page, lambda: current.count() == 1)
        if where == "another conversation":
            page.locator("#threads a", has_text="fan 5").click()
            page.locator(".turn footer").wait_for()
        else:
            begin(page)
        # What the page does when it hears that the answer was broken off.
        page.wait_for_timeout(300)
    wanted = (first, "fan 5") if where == "another conversation" else (f"{written.address}/", "")
    assert page.url == wanted[0]
    assert "".join(current.all_inner_texts()).count(wanted[1] or "?") == bool(wanted[1])
    assert QUESTION not in page.title()


@pytest.mark.parametrize("answer", ["comes", "fails"])
def test_a_conversation_that_comes_late_leads_nobody_back(page: Any, answer: str):
    ask(page, "Where does pump 18 stand?")
    late = page.url.rpartition("/")[2]
    begin(page)
    ask(page, QUESTION)
    here, held = page.url, list[Any]()
    page.route(f"**/api/threads/{late}", lambda route: held.append(route))  # noqa: PLW0108 - it marks what it is given
    page.locator(f"#threads a[href$='{late}']").click()
    until(page, lambda: bool(held))
    # What a question would follow there is not known yet.
    assert page.locator(".composer textarea").is_disabled()
    # Nor would a question of the conversation before, changed now, be asked where it stood.
    focused = "one => (one.focus(), one === document.activeElement)"
    assert not page.get_by_label("Change the question").evaluate(focused)
    page.locator(f"#threads a[href$='{here.rpartition('/')[2]}']").click()
    page.locator(".composer textarea:enabled").wait_for()
    with page.expect_response(f"**/api/threads/{late}"):
        held[0].continue_() if answer == "comes" else held[0].fulfill(status=404, json={"error": "No."})
    # What the page does with it.
    page.wait_for_timeout(300)
    assert page.url == here
    assert page.locator(".asked").all_inner_texts() == [QUESTION]
    assert page.get_by_label("Change the question").evaluate(focused)
    assert page.locator("#threads a[aria-current]").get_attribute("href") == f"#{here.partition('#')[2]}"


def test_a_list_of_conversations_that_comes_late_leads_nobody_back(page: Any):
    held = list[Any]()
    page.route(
        "**/api/threads", lambda route: held.append(route) if route.request.method == "GET" else route.continue_()
    )
    ask(page, QUESTION)
    # One when the conversation began, one when the answer had ended.
    until(page, lambda: len(held) == 2)
    begin(page)
    with page.expect_response(lambda answer: answer.request == held[1].request):
        for route in held:
            route.continue_()
    page.locator("#threads a", has_text=QUESTION).first.wait_for()
    assert page.locator("#threads a[aria-current]").count() == 0
    assert QUESTION not in page.title()


def test_a_click_on_a_conversation_is_heard_though_the_list_comes_anew(page: Any):
    held = list[Any]()
    ask(page, "Where does pump 18 stand?")
    begin(page)
    ask(page, QUESTION)
    # Once for the page, and for each conversation: begun, and listed when it began and when the answer had ended.
    until(page, lambda: page.evaluate(HEARD_OF_CONVERSATIONS) == 7)
    page.route("**/api/threads", lambda route: held.append(route))  # noqa: PLW0108 - it marks what it is given
    ask(page, "And pump 18?")
    until(page, lambda: len(held) == 2)
    page.locator("#threads a", has_text="Where does pump 18 stand?").first.hover()
    page.mouse.down()
    with page.expect_response(lambda answer: answer.request == held[1].request):
        for route in held:
            route.continue_()
    # The page draws the list.
    page.wait_for_timeout(300)
    page.mouse.up()
    until(page, lambda: page.locator(".asked").all_inner_texts() == ["Where does pump 18 stand?"])


def test_whoever_leaves_in_the_moment_in_which_an_answer_ends_is_where_they_went(page: Any):
    ask(page, "Where does pump 18 stand?")
    first = page.url
    begin(page)
    page.evaluate(OPEN_YET)
    ask(page, QUESTION)
    until(page, lambda: page.evaluate("Boolean(window.end)"))
    page.evaluate("hash => { window.end(); location.hash = hash; }", first.partition("#")[2])
    until(page, lambda: page.locator(".asked").all_inner_texts() == ["Where does pump 18 stand?"])
    assert page.url == first


def test_a_conversation_is_forgotten_at_once_though_it_is_being_answered(forgotten: None, page: Any, written: Written):
    with written.model.held():
        send(page, QUESTION)
        page.locator(".steps li", has_text="knowledge_base").first.wait_for()
        page.locator("#threads a[aria-current]").hover()
        forget(page, QUESTION)
        page.get_by_text("Your conversations will stand here.").wait_for()
        assert page.locator(".welcome").count() == 1
        assert page.url == f"{written.address}/"


def test_enter_while_an_answer_comes_neither_stops_it_nor_loses_what_was_typed(page: Any, written: Written):
    with written.model.held():
        send(page, QUESTION)
        page.locator(".steps li", has_text="knowledge_base").first.wait_for()
        send(page, "And pump 18?")
    page.locator(".turn footer").wait_for()
    assert page.input_value(".composer textarea") == "And pump 18?"
    assert page.locator(".asked").all_inner_texts() == [QUESTION]


def test_an_answer_that_comes_in_another_window_is_not_told_to_be_interrupted(
    page: Any, chromium: Browser, written: Written
):
    with written.model.held():
        send(page, QUESTION)
        page.locator(".steps li", has_text="knowledge_base").first.wait_for()
        with page_of(chromium, page.url) as other:
            other.page.get_by_text("This answer is still being written.").wait_for()
            send(other.page, "And pump 18?")
            other.page.locator(".failed", has_text="The answer before is still being written.").wait_for()
        with page_of(chromium, page.url) as other:
            other.page.get_by_text("This answer is still being written.").wait_for()
            written.model.free()
            other.page.locator(".turn footer").wait_for()
            assert "90 days" in other.page.locator(".prose").inner_text()
    page.locator(".turn footer").wait_for()
    assert "90 days" in page.locator(".prose").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_read_at_400_pixels_and_in_russian(chromium: Browser, address: str, scheme: str):
    narrow: dict[str, Any] = {"viewport": {"width": 400, "height": 800}, "locale": "ru-RU", "color_scheme": scheme}
    with page_of(chromium, address, **narrow) as opened:
        page = opened.page
        assert page.locator("html").get_attribute("lang") == "ru"
        document = passage(ask(page, QUESTION))
        document.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") == 400
        assert page.locator(".passage").bounding_box()["width"] == 400
        page.locator(".passage").get_by_label("Закрыть").click()
        page.get_by_role("button", name="Беседы").click()
        page.get_by_text("Новая беседа").wait_for()
        paper, ink = (
            page.evaluate(f"getComputedStyle(document.documentElement).{name}") for name in ("backgroundColor", "color")
        )
        light = [sum(map(int, colour.strip("rgb()").split(","))) for colour in (paper, ink)]
        assert (light[0] > light[1]) == (scheme == "light")


def test_everything_is_reached_by_the_keyboard(page: Any):
    ask(page, QUESTION)
    names = []
    page.evaluate("document.activeElement.blur()")
    for _ in range(30):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.ariaLabel ?? document.activeElement.textContent"))
    for wanted in ("New conversation", "Change the question", "Citation 1: docs/pumps.md:5", "Copy as Markdown"):
        assert wanted in names
    page.locator(".cite a").first.focus()
    assert page.locator("#hint").is_visible()
    page.keyboard.press("Enter")
    page.locator(".document").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"


def test_the_conversations_of_a_narrow_window_are_reached_and_left_by_the_keyboard(chromium: Browser, address: str):
    with page_of(chromium, address, viewport={"width": 390, "height": 800}) as opened:
        page = opened.page
        ask(page, QUESTION)
        # An answer that has ended is listed, and a row that is drawn then would take no focus.
        until(page, lambda: page.evaluate(HEARD_OF_CONVERSATIONS) == 4)
        drawer, menu = page.locator("#threads"), page.locator(".menu")
        focused = "one => one === document.activeElement"
        for leaves in ("Escape", "Enter"):
            menu.focus()
            page.keyboard.press("Enter")
            until(page, lambda: page.get_by_text("New conversation").evaluate(focused))
            if leaves == "Enter":
                page.locator("#threads a[aria-current]").focus()
            page.keyboard.press(leaves)
            until(page, drawer.is_hidden)
            assert menu.evaluate(focused), leaves
        assert page.locator(".asked").all_inner_texts() == [QUESTION]


def test_the_open_drawer_of_a_narrow_window_keeps_the_focus(chromium: Browser, address: str):
    with page_of(chromium, address, viewport={"width": 390, "height": 800}) as opened:
        page = opened.page
        ask(page, QUESTION)
        page.locator(".menu").click()
        until(page, lambda: page.evaluate("document.activeElement.closest('#threads') !== null"))
        # Past its last place and before its first one.
        for key in ("Tab", "Shift+Tab"):
            for _ in range(40):
                page.keyboard.press(key)
                assert not page.evaluate("Boolean(document.activeElement.closest('main, .menu, .skip, .passage'))")
        page.set_viewport_size({"width": 1300, "height": 850})
        until(page, lambda: page.locator(".composer textarea").evaluate("one => (one.focus(), one.matches(':focus'))"))


def test_where_users_sign_in_a_token_opens_the_page(page: Any, guarded: tuple[str, str]):
    _, token = guarded
    page.fill("input", "wrong")
    page.keyboard.press("Enter")
    page.get_by_text("Nobody has this token.").wait_for()
    page.fill("input", token)
    page.keyboard.press("Enter")
    page.locator(".composer").wait_for()
    assert page.evaluate("document.cookie") == ""
    ask(page, QUESTION)
    page.get_by_text("Sign out").click()
    page.locator(".sign-in").wait_for()


def test_signing_out_that_fails_is_told_and_another_window_may_have_done_it(page: Any, guarded: tuple[str, str]):
    _, token = guarded
    page.fill("input", token)
    page.keyboard.press("Enter")
    page.locator(".composer textarea:enabled").wait_for()
    page.route("**/sign-out", lambda route: route.abort())
    page.get_by_text("Sign out").click()
    page.locator("#threads .failed", has_text="The server cannot be reached.").wait_for()
    page.unroute_all()
    page.context.clear_cookies()
    page.get_by_text("Sign out").click()
    page.locator(".sign-in").wait_for()


@pytest.mark.covers("U9")
def test_the_address_of_a_citation_opens_its_passage(chromium: Browser, address: str):
    with page_of(chromium, address) as opened:
        ask(opened.page, QUESTION)
        link = opened.page.locator(".cite a").first.get_attribute("href")
    with page_of(chromium, f"{address}/{link}") as opened:
        opened.page.locator(".document mark").first.wait_for()


def test_a_question_that_is_refused_is_not_lost(page: Any):
    ask(page, QUESTION)
    # As the gate refuses it (test_gate.py), whose measure takes a minute to fill.
    page.route("**/api/threads/**", lambda route: route.fulfill(**REFUSAL))
    page.route("**/api/threads", lambda route: route.fulfill(**REFUSAL))
    for place in ("here", "elsewhere"):
        send(page, f"And pump 18, {place}?")
        page.locator(".failed", has_text="Too many requests").wait_for()
        assert page.locator(".asked").last.inner_text() == f"And pump 18, {place}?"
        page.get_by_text("Try again").click()
        page.locator(".failed", has_text="Too many requests").wait_for()
        assert page.locator(".asked", has_text="And pump 18").count() == 1
        begin(page)


def test_a_question_that_was_refused_is_there_yet_when_another_was_asked(page: Any):
    page.route("**/turns", lambda route: route.fulfill(**REFUSAL))
    for question in ("Where does pump 18 stand?", "Where stands pump 18?"):
        ask(page, question, ".failed")
    page.unroute("**/turns")
    ask(page, QUESTION)
    assert page.locator(".branches").inner_text() == "3/3"
    page.get_by_label("Wording before").click()
    until(page, lambda: page.locator(".asked").all_inner_texts() == ["Where stands pump 18?"])
    page.locator(".failed", has_text="Too many requests").wait_for()
    page.get_by_text("Try again").click()
    page.locator(".turn footer").wait_for()
    assert page.locator(".asked").all_inner_texts() == ["Where stands pump 18?"]
    assert page.locator(".branches").inner_text() == "3/3"


def test_a_conversation_in_which_nothing_was_asked_does_not_remain(forgotten: None, page: Any, address: str):
    page.route("**/turns", lambda route: route.fulfill(**REFUSAL))
    ask(page, QUESTION, ".failed")
    with httpx.Client(base_url=address) as client:
        assert client.get("/api/threads").json()["threads"] == []
    assert (page.url, page.locator("#threads a").count()) == (f"{address}/", 0)
    page.unroute("**/turns")
    page.get_by_text("Try again").click()
    page.locator(".turn footer").wait_for()
    until(page, lambda: page.locator("#threads a[aria-current]").count() == 1)


def test_a_conversation_that_another_window_forgets_is_told_to_be_gone(forgotten: None, page: Any, written: Written):
    with written.model.held():
        ask(page, QUESTION, ".steps li")
        until(page, lambda: page.locator("#threads a[aria-current]").count() == 1)
        other = page.context.new_page()
        other.goto(page.url)
        other.locator("#threads li").hover()
        forget(other, QUESTION)
        other.locator(".welcome").wait_for()
    other.get_by_text("Your conversations will stand here.").wait_for()
    page.locator(".failed", has_text="There is no such conversation").wait_for()
    page.get_by_text("Your conversations will stand here.").wait_for()


def test_behind_a_question_that_was_refused_or_stopped_another_follows_what_was_answered(page: Any, written: Written):
    ask(page, "How often is fan 5 oiled?")
    page.route("**/turns", lambda route: route.fulfill(**REFUSAL))
    ask(page, "And pump 18?", ".failed")
    page.unroute("**/turns")
    with written.model.held():
        ask(page, QUESTION, ".steps li")
        page.get_by_label("Stop").click()
        page.get_by_text("You stopped this answer.").wait_for()
    ask(page, "How often is pump 17 serviced, please?")
    assert page.locator(".asked").all_inner_texts() == [
        "How often is fan 5 oiled?",
        "How often is pump 17 serviced, please?",
    ]
    page.reload()
    until(page, lambda: page.locator(".turn footer").count() == 2)
    assert page.locator(".asked").last.inner_text() == "How often is pump 17 serviced, please?"


def test_an_answer_that_is_shown_can_be_followed_while_its_stream_is_open_yet(page: Any, opened: Opened):
    page.evaluate(OPEN_YET)
    ask(page, QUESTION)
    ask(page, "And pump 18?")
    assert opened.console == []


@pytest.mark.parametrize(
    ("told", "answer"),
    [
        ("The server cannot be reached.", None),
        ("The connection to the server broke off.", {"body": '{"begun": "a1"}\n{"text": "Half of it"}\n'}),
        ("The server, or a proxy before it, answers with error 502.", {"status": 502, "body": "<h1>Bad Gateway</h1>"}),
        ("You are signed out.", {"status": 401, "json": {"error": "Sign in: Authorization: Bearer TOKEN."}}),
        ("A proxy answers in place of the server", {"content_type": "text/html", "body": "<h1>Sign in</h1>"}),
    ],
)
def test_what_became_of_a_server_is_told_in_the_words_of_the_page(page: Any, told: str, answer: dict[str, Any] | None):
    ask(page, QUESTION)
    page.route("**/turns", lambda route: route.fulfill(**answer) if answer else route.abort())
    send(page, "And pump 18?")
    page.locator(".failed", has_text=told).wait_for()
    assert page.locator(".turn", has_text="Half of it").count() == 0
