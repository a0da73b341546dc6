"""Debian's Chromium, driven by playwright: without a network, and with everything that a page tries put on record."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

HOW_TO_GET_IT = (
    "Chromium is not there; run scripts/install_services.sh chromium, or name a binary in GROUNDGRAPH_CHROMIUM"
)


def chromium_binary() -> str | None:
    """The browser that `GROUNDGRAPH_CHROMIUM` names, else the one on the path; None when it is not there."""
    named = os.environ.get("GROUNDGRAPH_CHROMIUM")
    if named:
        return named if os.access(named, os.X_OK) else None
    return next(
        (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
    )


@dataclass
class Opened:
    """A page, and what it did beyond showing itself."""

    page: Any
    requests: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)

    def watch(self) -> None:
        """Put requests, messages, errors and dialogs on record; the page itself is no request of its own."""
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.console.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.console.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))

    @property
    def quiet(self) -> bool:
        """Whether nothing but the file itself was asked for, and nothing was complained about."""
        return (
            not self.console
            and not self.dialogs
            and all(url.startswith("file:") for url in self.requests)
            and (len(self.requests) == 1)
        )


@dataclass
class Browser:
    """A running browser."""

    driver: Any

    @contextmanager
    def opened(self, address: str, **options: Any) -> Iterator[Opened]:
        """The page at `address` in a window of its own; `options` as for playwright's `new_context`."""
        context = self.driver.new_context(**options)
        try:
            opened = Opened(context.new_page())
            opened.watch()
            opened.page.goto(address)
            yield opened
        finally:
            context.close()


def until(page: Any, true: Callable[[], bool]) -> None:
    """Returns as soon as `true` says so; what a page does upon a click or a key takes it a moment.

    Raises:
        AssertionError: it did not within a minute.
    """
    ends_at = time.monotonic() + 60
    while not true():
        assert time.monotonic() < ends_at, "it did not happen"
        page.wait_for_timeout(20)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The browser; without it the tests are skipped, or fail where nothing may be skipped.

    It holds the event loop of its thread, so it ends with its file.
    """
    binary = chromium_binary()
    if binary is None:
        if os.environ.get("GROUNDGRAPH_NO_SKIPS"):
            pytest.fail(HOW_TO_GET_IT)
        pytest.skip(HOW_TO_GET_IT)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # A container has neither a display nor the rights for a sandbox; the pages are ours.
        driver = playwright.chromium.launch(executable_path=binary, args=["--no-sandbox"])
        yield Browser(driver)
        driver.close()
