"""The page of `groundgraph serve` in a window of its own, and a question that is asked there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from chromium import Browser, Opened

REFUSAL: dict[str, Any] = {"status": 429, "json": {"error": "Too many requests. Wait a little."}}


@contextmanager
def page_of(chromium: Browser, address: str, **options: Any) -> Iterator[Opened]:
    """The page; nothing may be asked for elsewhere, and nothing may be complained about."""
    with chromium.opened(
        address, **{"locale": "en-US", "viewport": {"width": 1300, "height": 850}, **options}
    ) as opened:
        opened.page.wait_for_selector(".composer textarea:enabled, .sign-in")
        yield opened
        assert [url for url in opened.requests if not url.startswith(address.split("/#", maxsplit=1)[0])] == []
        assert opened.dialogs == []


def forget_all(address: str) -> None:
    """What others asked at a server that is theirs too."""
    # One that is still answered is forgotten when its run has ended; what is left would be found by the test.
    with httpx.Client(base_url=address, timeout=60) as client:
        for thread in client.get("/api/threads").json()["threads"]:
            assert client.delete(f"/api/threads/{thread['id']}").status_code in (204, 404)


@pytest.fixture
def page_address(request: pytest.FixtureRequest) -> str:
    """Of the server that a test names: `written` or `guarded`, else `address`."""
    addresses = {"written": lambda server: server.address, "guarded": lambda server: server[0], "address": str}
    named = next(name for name in addresses if name in request.fixturenames or name == "address")
    return addresses[named](request.getfixturevalue(named))


@pytest.fixture
def forgotten(page_address: str) -> None:
    """What others asked there is forgotten; named before `page`, it is before that is opened."""
    forget_all(page_address)


@pytest.fixture
def opened(chromium: Browser, page_address: str) -> Iterator[Opened]:
    """The page at `page_address`, with what it did."""
    with page_of(chromium, page_address) as opened:
        yield opened


@pytest.fixture
def page(opened: Opened) -> Any:
    """The page at `page_address`."""
    return opened.page


def send(page: Any, text: str) -> None:
    page.fill(".composer textarea", text)
    page.keyboard.press("Enter")


def begin(page: Any) -> None:
    """A new conversation."""
    page.get_by_text("New conversation").click()
    page.locator(".welcome").wait_for()


def forget(page: Any, question: str) -> None:
    """The conversation that began with the question."""
    page.get_by_label(f"Forget: {question}").click()
    page.get_by_role("button", name="Forget", exact=True).click()


def ask(page: Any, question: str, ended: str = "footer") -> Any:
    """The article of a question that was asked, when it has come to `ended`."""
    send(page, question)
    article = page.locator(".turn", has_text=question).last
    article.locator(ended).first.wait_for()
    return article
