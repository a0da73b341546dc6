"""Over what the page is looked at: the same documents, settings and model on our own and on a LangGraph Server."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from reportlab.pdfgen import canvas
from served import PUMPS, filled, serving

from groundgraph import load_settings
from groundgraph.serve.app import Served
from groundgraph.serve.users import Users
from groundgraph.testing import Reply, openai_stub
from groundgraph.testing.models import Prompt

Start = Callable[[Path, Mapping[str, Any]], AbstractContextManager[str]]
"""The address of a server over the configuration, in whose folder the documents stand."""

QUESTION = "How often is pump 17 serviced?"
SCRIPT = "<script>window.ran=1</script>"
HOSTILE = (
    f"{SCRIPT}<img src=x onerror=window.ran=1><svg onload=window.ran=1><a href='javascript:window.ran=1'>a</a>"
    "[b](javascript:window.ran=1) ![c](https://evil.example/c.png) <iframe srcdoc='<script>parent.ran=1</script>'>"
    " \u202egnp.exe\u202c " + "w" * 3000
)
PRODUCTS = {"Pump Orion": "two", "Pump <img src=x onerror=window.ran=1> Vega": "three"}


def handbook() -> bytes:
    written = io.BytesIO()
    pdf = canvas.Canvas(written)
    for text in ("Handbook of the compressors of the plant", "The compressor C4 runs at 1450 revolutions per minute."):
        pdf.drawString(72, 700, text)
        pdf.showPage()
    pdf.save()
    return written.getvalue()


DOCUMENTS: dict[str, str | bytes] = {
    "pumps.md": PUMPS + f"\n## Valves\n\nThe valve of hall 9 is opened by hand. {HOSTILE}\n",
    "parts.csv": "part,stock\n" + "\n".join(f"seal S{number},{number * 3}" for number in range(30)),
    "handbook.pdf": handbook(),
    "lamps.html": f"<h1 onclick=window.ran=1>Lamps</h1>{SCRIPT}<p>The lamps of hall 4 are "
    "<a href='javascript:window.ran=1'>green</a>.<img src=x onerror=window.ran=1></p><style>* { top: 0 }</style>",
    "notes.txt": "The boiler B2 was inspected in May 2024 by Ms. Itohara,\nwho found no fault.\n",
}
FANS = {
    "pumps.md": PUMPS,
    "<img src=x onerror=window.ran=1>.md": f"# {HOSTILE}\n\nFan 5 is oiled every 30 days. {HOSTILE}\n",
}
# Parts of questions, and what the model answers.
ANSWERS = {
    "fan 5": f"Fan 5 is oiled every 30 days [1]. {HOSTILE} [1].",
    "filter": f"The moon orbits a cheese {SCRIPT} [1].",
    "stand": f"The moon orbits a cheese {SCRIPT} [1].",
    "serviced": "Pump 17 is serviced every 90 days [1]. It costs 400 euros [1].",
}


class HeldModel:
    """Answers by what is asked, at once or when it is let go."""

    def __init__(self) -> None:
        self._free = threading.Event()
        self._free.set()

    def __call__(self, prompt: Prompt) -> Reply:
        """What it answers."""
        assert self._free.wait(120)
        return Reply(next(text for asked, text in ANSWERS.items() if asked in prompt.question))

    def free(self) -> None:
        """Lets it answer."""
        self._free.set()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Within it nothing is answered."""
        self._free.clear()
        try:
            yield
        finally:
            self.free()


@dataclass(frozen=True)
class Written:
    """A server whose answers a model writes, and which asks a source that is slow and one that is down as well."""

    address: str
    model: HeldModel


def own(folder: Path, settings: Mapping[str, Any]) -> AbstractContextManager[str]:
    """See `Start`: our own server."""
    loaded = load_settings(dict(settings)).model_copy(update={"base_dir": folder})
    uploads = loaded.server.page_uploads
    return serving(loaded, Served(each_minute=1_000_000, uploads=loaded.at(uploads) if uploads else None))


@pytest.fixture(scope="module")
def start() -> Iterator[Start]:
    """Our own server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "test")
        yield own


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the documents of `address` stand, in `docs`."""
    return tmp_path_factory.mktemp("page")


@pytest.fixture(scope="module")
def address(start: Start, folder: Path) -> Iterator[str]:
    """A server that answers without a model, and into whose `docs` documents may be dropped."""
    server = {"page_rate": 1_000_000, "page_uploads": "docs"}
    filled(folder, DOCUMENTS)
    with start(folder, {"synthesis": {"style": "structured", "listing": False}, "server": server}) as url:
        yield url


@pytest.fixture(scope="module")
def written(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    """See `Written`."""
    folder, model = tmp_path_factory.mktemp("written"), HeldModel()
    filled(folder, FANS)
    with openai_stub(default=model) as stub, start(folder, written_settings(folder, stub.base_url)) as url:
        yield Written(url, model)


def written_settings(folder: Path, model: str) -> dict[str, Any]:
    """Of a server whose answers the model at that address writes."""
    records = [
        {"id": str(at), "content": f"The warranty of the pump lasts {years} years.", "product": name}
        for at, (name, years) in enumerate(PRODUCTS.items())
    ]
    shop = {"type": "memory", "name": "shop", "schema": {"fields": {"product": {"type": "string"}}}, "records": records}
    retriever = {"type": "langchain", "class": "slow_retriever:SlowRetriever"}
    slow = {**retriever, "name": "slow", "options": {"seconds": 60, "notes": str(folder / "notes")}}
    down = {**retriever, "name": "down", "options": {"seconds": 0, "notes": str(folder / "nowhere" / "notes")}}
    return {
        "llm": {"provider": "openai", "model": "test-model", "base_url": model},
        "intent": {"mode": "static"},
        "synthesis": {"style": "conversational", "ask_back": {"field": "product"}},
        # One passage answers, the others of the base are left out.
        "retrieval": {"score_threshold": 0.3},
        "human_review": {"support_below": 0.2},
        "deadlines": {"source": 1.0},
        # Those that fail are asked each time.
        "limits": {"breaker_failures": 1_000_000},
        "server": {"page_rate": 1_000_000},
        "sources": [{"type": "knowledge_base"}, shop, slow, down],
    }


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """A server where a user signs in, and their token."""
    served = Served(Users.of("secret", None), each_minute=1_000_000)
    with serving(filled(tmp_path_factory.mktemp("guarded"), {"pumps.md": PUMPS}), served) as url:
        yield url, "secret"
