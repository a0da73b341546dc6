"""The page of `groundgraph serve` in a window of its own, and a question that is asked there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from chromium import Browser, Opened


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


def ask(page: Any, question: str, ended: str = "footer") -> Any:
    """The article of a question that was asked, when it has come to `ended`."""
    page.fill(".composer textarea", question)
    page.keyboard.press("Enter")
    article = page.locator(".turn", has_text=question).last
    article.locator(ended).first.wait_for()
    return article
