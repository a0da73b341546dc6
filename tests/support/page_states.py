"""Every state of the page, to look at: `python tests/support/page_states.py` writes the pictures in the documentation.

Each picture shows one state four times: light, dark, in Russian, and 400 pixels wide.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from chromium import Browser, chromium_binary, until
from opened_page import ask
from PIL import Image
from reportlab.pdfgen import canvas
from served import filled, serving

from groundgraph import InMemorySource, SourceSchema
from groundgraph.serve.app import Served
from groundgraph.serve.users import Users
from groundgraph.testing import FaultySource, Reply, Rule, ScriptedChatModel

DOCS = Path(__file__).parent.parent.parent / "docs"
SCREENS = DOCS / "screens"
WIDE, NARROW = {"width": 1200, "height": 750}, {"width": 400, "height": 750}
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"viewport": WIDE, "locale": "en-US"},
    "dark": {"viewport": WIDE, "locale": "en-US", "color_scheme": "dark"},
    "russian": {"viewport": WIDE, "locale": "ru-RU"},
    "narrow": {"viewport": NARROW, "locale": "en-US"},
}


@dataclass(frozen=True)
class Said:
    """What is asked, in one language."""

    service: str
    follow_up: str
    slow: str
    stock: str
    speed: str
    unknown: str
    weak: str
    unclear: str


ENGLISH = Said(
    "How often is pump 17 serviced?",
    "And who opens its valve?",
    "What is done when pump 17 leaks?",
    "What is the stock of seal S11?",
    "At how many revolutions per minute does compressor C4 run?",
    "Who composed the opera Parsifal?",
    "Where does pump 18 stand?",
    "How long does the warranty of the pump last?",
)
RUSSIAN = Said(
    "Как часто обслуживается насос 17?",
    "А кто открывает его клапан?",
    "Что делают, когда насос 17 течёт?",
    "What is the stock of seal S11?",
    "At how many revolutions per minute does compressor C4 run?",
    "Кто сочинил оперу «Парсифаль»?",
    "Где стоит насос 18?",
    "Сколько действует гарантия на насос?",
)
PUMPS = """# Pumps of hall 3

Each pump has a card, on which every service is entered with the name of whoever did it.

## Service

Pump 17 is serviced every **90 days**. Its filter is changed once a year. The valve of pump 17 is opened by the shift
leader, and by nobody else.

When pump 17 leaks, close the valve, switch the motor off and call the shift leader.

## Retired

Pump 18 is retired. It stands in hall 3, behind the compressors, and is kept for its parts.
"""
NASOSY = """# Насосы зала 3

У каждого насоса есть карта, куда вносится каждое обслуживание.

## Обслуживание

Насос 17 обслуживается каждые **90 дней**. Его фильтр меняют раз в год. Клапан насоса 17 открывает только начальник
смены.

Когда насос 17 течёт, закрывают клапан, выключают мотор и зовут начальника смены.

## Списанные

Насос 18 списан. Он стоит в зале 3 за компрессорами и хранится на запчасти.
"""


def handbook() -> bytes:
    """A PDF of two pages."""
    written = io.BytesIO()
    pdf = canvas.Canvas(written)
    pages = (
        ("Compressors", "This handbook describes the compressors of the plant."),
        ("Compressor C4", "The compressor C4 runs at 1450 revolutions per minute.", "It is oiled every Monday."),
    )
    for title, *lines in pages:
        pdf.setFont("Times-Bold", 20)
        pdf.drawString(72, 740, title)
        pdf.setFont("Times-Roman", 13)
        for number, line in enumerate(lines):
            pdf.drawString(72, 700 - 20 * number, line)
        pdf.showPage()
    pdf.save()
    return written.getvalue()


DOCUMENTS: dict[str, str | bytes] = {
    "pumps.md": PUMPS,
    "насосы.md": NASOSY,
    "parts.csv": "part,stock,shelf\n" + "\n".join(f"seal S{at},{at * 3},{'ABC'[at % 3]}{at}" for at in range(24)),
    "handbook.pdf": handbook(),
}
WARRANTIES = [
    {"id": "1", "content": "The warranty of the pump lasts two years.", "product": "Pump Orion"},
    {"id": "2", "content": "The warranty of the pump lasts three years.", "product": "Pump Vega"},
    {"id": "3", "content": "Гарантия на насос действует два года.", "product": "Насос «Орион»"},
    {"id": "4", "content": "Гарантия на насос действует три года.", "product": "Насос «Вега»"},
]
SETTINGS: dict[str, Any] = {"synthesis": {"style": "conversational"}, "intent": {"mode": "static"}}
WEAK = "It was sold in 2019 [1]."


def model() -> ScriptedChatModel:
    """Answers as a model would, one sentence of which is not in the evidence."""
    written = {
        ENGLISH.follow_up: "The shift leader, and nobody else, opens the valve of pump 17 [1].",
        RUSSIAN.follow_up: "Клапан насоса 17 открывает только начальник смены [1].",
        ENGLISH.stock: "There are 33 of seal S11 in stock [1].",
        ENGLISH.speed: "The compressor C4 runs at 1450 revolutions per minute [1].",
        ENGLISH.weak: WEAK,
        RUSSIAN.weak: "Его продали в 2019 году [1].",
        # Last, since a question stands in the prompts of those that follow it.
        ENGLISH.service: "Pump 17 is serviced every **90 days** [1]. A service costs about 400 euros [1].",
        RUSSIAN.service: "Насос 17 обслуживается каждые **90 дней** [1]. Обслуживание стоит около 400 евро [1].",
    }
    slow = [Rule(said.slow, Reply("…", delay=20)) for said in (ENGLISH, RUSSIAN)]
    return ScriptedChatModel(rules=[*slow, *(Rule(asked, reply) for asked, reply in written.items())], default="…")


@dataclass(frozen=True)
class Scene:
    """The servers on which the states are shown: one with documents, one where answers wait, one that is guarded, one
    whose source is down, and one that asks back."""

    documents: str
    waits: str
    guarded: str
    down: str
    asks: str


@contextmanager
def scene() -> Iterator[Scene]:
    """The servers."""
    with ExitStack() as stack:

        def folder() -> Path:
            return Path(stack.enter_context(tempfile.TemporaryDirectory()))

        place = folder()
        served = Served(each_minute=1_000_000, uploads=place / "docs")
        documents = stack.enter_context(serving(filled(place, DOCUMENTS, **SETTINGS), served, chat_model=model()))
        review = {**SETTINGS, "human_review": {"support_below": 0.6}}
        waits = stack.enter_context(serving(filled(folder(), DOCUMENTS, **review), chat_model=model()))
        named = Served(Users.of("secret", None), each_minute=1_000_000)
        guarded = stack.enter_context(serving(filled(folder(), {"pumps.md": PUMPS}), named))
        faulty = FaultySource(InMemorySource([PUMPS], name="archive"), error=ConnectionError("no route"))
        down = stack.enter_context(serving(filled(folder(), {"pumps.md": PUMPS}), sources=[faulty]))
        shop = InMemorySource(WARRANTIES, name="shop", schema=SourceSchema("shop", {"product": {}}))
        open_ = {"synthesis": {"style": "structured", "ask_back": {"field": "product"}}}
        asks = stack.enter_context(serving(filled(folder(), {}, **open_), sources=[shop]))
        yield Scene(documents, waits, guarded, down, asks)


def _start(page: Any, said: Said) -> None:
    page.locator(".welcome").wait_for()


def _working(page: Any, said: Said) -> None:
    ask(page, said.slow, ".steps li:nth-child(3)")


def _answer(page: Any, said: Said) -> None:
    article = ask(page, said.service)
    article.locator(".findings summary").click()
    article.locator(".quiet").nth(2).click()
    article.locator(".cite a").first.hover()
    page.locator("#hint").wait_for()


def _branches(page: Any, said: Said) -> None:
    ask(page, said.service)
    ask(page, said.follow_up)
    article = page.locator(".turn").nth(1)
    article.locator("header .quiet").last.click()
    page.fill(".editing textarea", said.weak)
    page.keyboard.press("Enter")
    page.locator(".branches").wait_for()
    until(page, lambda: page.locator(".turn footer").count() == 2)
    page.locator(".branches button").first.click()
    until(page, lambda: page.locator(".turn footer").count() == 2)


def _opened(question: str) -> Callable[[Any, Said], None]:
    def state(page: Any, said: Said) -> None:
        ask(page, getattr(said, question)).locator(".cite a").first.click()
        page.locator(".document :is(mark, .lit, rect)").first.wait_for()
        if question == "speed":
            until(page, lambda: page.locator(".sheet img").evaluate("image => image.naturalWidth") > 0)

    return state


def _insufficient(page: Any, said: Said) -> None:
    ask(page, said.unknown)


def _unavailable(page: Any, said: Said) -> None:
    ask(page, said.unknown)


def _choices(page: Any, said: Said) -> None:
    ask(page, said.unclear)
    page.locator(".choices button").first.wait_for()


def _waits(page: Any, said: Said) -> None:
    ask(page, said.weak, ".decision")


def _uploads(page: Any, said: Said) -> None:
    files = [
        {"name": "valves.md", "mimeType": "text/markdown", "buffer": b"# Valves\n\nValves are opened by hand.\n"},
        {"name": "broken.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7"},
        {"name": "photo.png", "mimeType": "image/png", "buffer": b"png"},
    ]
    page.set_input_files("input[type=file]", files)
    until(page, lambda: page.locator("#uploads .taken").count() + page.locator("#uploads .refused").count() == 3)


def _sign_in(page: Any, said: Said) -> None:
    page.fill("input", "wrong")
    page.keyboard.press("Enter")
    until(page, lambda: page.locator(".failed").inner_text() != "")


# By name: where it is seen, and how it is reached.
STATES: dict[str, tuple[str, Callable[[Any, Said], None]]] = {
    "start": ("documents", _start),
    "working": ("documents", _working),
    "answer": ("documents", _answer),
    "branches": ("documents", _branches),
    "passage": ("documents", _opened("service")),
    "table": ("documents", _opened("stock")),
    "pdf": ("documents", _opened("speed")),
    "insufficient": ("documents", _insufficient),
    "unavailable": ("down", _unavailable),
    "choices": ("asks", _choices),
    "waits": ("waits", _waits),
    "uploads": ("documents", _uploads),
    "sign_in": ("guarded", _sign_in),
}


@contextmanager
def shown(browser: Browser, places: Scene, state: str, look: str) -> Iterator[Any]:
    """The page in a state, still."""
    place, reach = STATES[state]
    _forget_all(getattr(places, place))
    with browser.opened(getattr(places, place), reduced_motion="reduce", **LOOKS[look]) as opened:
        opened.page.wait_for_selector(".composer, .sign-in")
        reach(opened.page, RUSSIAN if look == "russian" else ENGLISH)
        opened.page.wait_for_timeout(150)
        yield opened.page


def _forget_all(url: str) -> None:
    """What an earlier state left; a guarded server has nothing."""
    for thread in httpx.get(f"{url}/api/threads").json().get("threads", ()):
        httpx.delete(f"{url}/api/threads/{thread['id']}")


def _picture(page: Any) -> Image.Image:
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def _together(pictures: dict[str, Image.Image]) -> Image.Image:
    """The four looks in one picture, half as large, with seams."""
    width, height, seam = WIDE["width"] // 2, WIDE["height"] // 2, 8
    whole = Image.new("RGB", (2 * width + seam, 2 * height + seam), "#8a8f98")
    for at, picture in enumerate(pictures.values()):
        small = picture.resize((picture.width // 2, picture.height // 2), Image.Resampling.LANCZOS)
        left = (at % 2) * (width + seam) + (width - small.width) // 2
        whole.paste(small, (left, at // 2 * (height + seam)))
    return whole


def _saved(picture: Image.Image, file: Path) -> None:
    """In 256 colours: 128 that cover most of it, so that no wide ground takes the tint of a letter's edge, and as many
    that come near to all the others, so that what is small keeps its own."""
    colours = [colour for _, colour in sorted(picture.getcolors(picture.width * picture.height) or (), reverse=True)]
    others = Image.new("RGB", (1, len(colours[128:]) or 1))
    others.putdata(colours[128:])
    near = others.quantize(128, Image.Quantize.MEDIANCUT).getpalette() or []
    palette = Image.new("P", (1, 1))
    palette.putpalette([value for colour in colours[:128] for value in colour] + near[: 3 * 128])
    picture.quantize(palette=palette, dither=Image.Dither.NONE).save(file, optimize=True)


def write_pictures(names: list[str]) -> None:
    """Writes the pictures of the states with these names, and that of the README."""
    from playwright.sync_api import sync_playwright

    SCREENS.mkdir(exist_ok=True)
    with scene() as places, sync_playwright() as playwright:
        driver = playwright.chromium.launch(executable_path=chromium_binary(), args=["--no-sandbox"])
        browser = Browser(driver)
        for state in names:
            pictures = {}
            for look in LOOKS:
                with shown(browser, places, state, look) as page:
                    pictures[look] = _picture(page)
            _saved(_together(pictures), SCREENS / f"{state}.png")
            if state == "passage":
                _saved(pictures["light"], DOCS / "page.png")
        driver.close()


if __name__ == "__main__":
    import sys

    write_pictures(sys.argv[1:] or list(STATES))
