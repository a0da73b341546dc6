"""Every state of the page, in every look: nothing in it bars anybody, nothing overflows, and its picture is kept."""

from __future__ import annotations

import re
from collections.abc import Iterator

import page_states
import pytest
from axe_playwright_python.sync_playwright import Axe
from chromium import Browser
from page_states import DOCS, LOOKS, SCREENS, STATES, Scene
from PIL import Image

pytestmark = pytest.mark.covers("U8")

MOST_BYTES = 150_000
# What axe says of a state, beside those two, is advice on style.
GRAVE = ("serious", "critical")


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    with page_states.scene() as places:
        yield places


@pytest.mark.live
@pytest.mark.parametrize("state", STATES)
def test_nothing_bars_anybody_and_nothing_overflows(chromium: Browser, scene: Scene, state: str):
    for look in LOOKS:
        with page_states.shown(chromium, scene, state, look) as page:
            found = Axe().run(page).response["violations"]
            told = [
                (look, one["id"], node["html"], node["failureSummary"])
                for one in found
                for node in one["nodes"]
                if one["impact"] in GRAVE
            ]
            assert told == []
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide == LOOKS[look]["viewport"]["width"], look


def test_the_documentation_has_a_picture_of_every_state():
    text = (DOCS / "serve.md").read_text("utf-8")
    shown = re.findall(r"!\[[^\]]+\]\(screens/(\w+)\.png\)", text)
    assert shown == list(STATES)
    assert sorted(file.name for file in SCREENS.iterdir()) == sorted(f"{state}.png" for state in STATES)
    for file in (*SCREENS.iterdir(), DOCS / "page.png"):
        assert file.stat().st_size < MOST_BYTES, file.name
        with Image.open(file) as picture:
            assert picture.format == "PNG"
            assert len(picture.getcolors() or ()) > 5, "it is no picture of a page"


def test_axe_finds_what_bars_somebody(chromium: Browser):
    with chromium.opened("about:blank") as opened:
        opened.page.set_content("<main><button></button><input></main>")
        found = {one["id"] for one in Axe().run(opened.page).response["violations"] if one["impact"] in GRAVE}
    assert {"button-name", "label"} <= found
