"""What cosines of a model are worth: of one that holds all texts to be alike (S8), and of the sentences to quote."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import turns
from langchain_core.embeddings import Embeddings

from groundgraph import InMemorySource, KnowledgeBase, load_settings, open_graph
from groundgraph.core.document import Document
from groundgraph.core.embedder import Embedder
from groundgraph.core.evidence import SourceResult
from groundgraph.evals.run_conversations import has_doubt
from groundgraph.nodes.works.judge_evidence import BackgroundCosine, comparable
from groundgraph.prompts import Prompts
from groundgraph.testing import NgramEmbeddings

pytestmark = pytest.mark.covers("S8")

TEXTS = [
    "The kestrel pump is serviced every 90 days.",
    "The harrier valve opens at 12 bar.",
    "The canteen serves soup on Mondays.",
    "Visitors sign in at the gate.",
]


class Alike(Embeddings):
    """Cosines between `share` and 1, as E5 or text-embedding-ada-002 have them."""

    def __init__(self, share: float) -> None:
        self.share, self.calls = share, 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.calls += 1
        rows = np.asarray(NgramEmbeddings(256).embed_documents(texts))
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        both = [np.sqrt(1 - self.share) * rows, np.full((len(rows), 1), np.sqrt(self.share))]
        found: list[list[float]] = np.hstack(both).tolist()
        return found

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


async def asked(folder: Path, share: float, question: str) -> dict[str, Any]:
    model = Alike(share)
    base = {
        "knowledge_base": {"file": str(folder / f"{share}.sqlite")},
        "intent": {"mode": "static"},
        "checkpointer": {"type": "memory"},
        "store": {"type": "memory"},
    }
    with KnowledgeBase.open(load_settings(base), embeddings=model) as opened:
        opened.add_documents(Document(f"{at}.md", text, "text/markdown") for at, text in enumerate(TEXTS))
    async with open_graph(load_settings(base), embeddings=model) as graph:
        return await turns.ask(graph, question, "t")


@pytest.mark.parametrize("share", [0.5, 0.7, 0.8])
@pytest.mark.parametrize(
    ("question", "outcome", "doubted"),
    [
        ("How often is the kestrel pump serviced?", "answered", False),
        ("What is the price of the kestrel pump?", "answered", True),
        ("Who founded Rome?", "insufficient", True),
        ("How many moons does Jupiter have?", "insufficient", True),
    ],
)
async def test_an_outcome_does_not_depend_on_where_a_models_cosines_lie(
    tmp_path: Path, share: float, question: str, outcome: str, doubted: bool
) -> None:
    plain, output = await asked(tmp_path, 0.0, question), await asked(tmp_path, share, question)
    assert output["outcome"] == plain["outcome"] == outcome
    assert has_doubt(output, Prompts()) == doubted
    assert output["support"]["answerable"] == pytest.approx(plain["support"]["answerable"], abs=0.05)


async def test_the_background_is_measured_once_and_again_when_that_failed() -> None:
    class Failing(Alike):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            self.calls += 1
            if self.calls == 1:
                raise ConnectionError("down")
            return super().embed_documents(texts)

    model = Failing(0.8)
    background = BackgroundCosine(Embedder(model, "alike"), 30)
    assert await background.mean() == 0.0
    assert await background.mean() == pytest.approx(0.8, abs=0.05)
    calls = model.calls
    await background.mean()
    assert model.calls == calls


def test_what_is_unrelated_and_what_is_the_same_stay_where_they_are() -> None:
    own = SourceResult("a", "1", "s", "t", 1.0, {}, scores={"vector": 1.0, "lexical": 0.2})
    far = SourceResult("b", "2", "s", "t", 0.7, {}, scores={"vector": 0.7})
    same, other = comparable([own, far], 0.7)
    assert same.scores == {"vector": pytest.approx(1.0), "lexical": 0.2}
    assert other.scores["vector"] == pytest.approx(0.03)
    assert comparable([far], 0.05) == comparable([far], 1.0) == [far]


class Meaning(Embeddings):
    """Knows what some words mean, and keeps what it was asked."""

    MEANT = (("salary", "wage"), ("leave", "holiday"), ("gate", "entrance"))

    def __init__(self) -> None:
        self.told: list[str] = []
        self.fails, self.hangs = False, False

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.told += texts
        return [[0.1, *(float(any(word in text for word in words)) for words in self.MEANT)] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.fails:
            raise ConnectionError("down")
        if self.hangs:
            await asyncio.sleep(60)
        return self.embed_documents(texts)


STAFF = (
    "# Staff\n\nEverybody has 25 days of leave a year, which the lead of each team enters in the calendar of the house "
    "and which nobody may carry over to another year without being asked for it beforehand.\n\n"
    "The wage is paid on the last working day of each month, into the account that was given when somebody began.\n"
)
SALARY = "When do people receive a salary?"


async def quoted(folder: Path, model: Meaning, question: str = SALARY, **settings: Any) -> dict[str, Any]:
    base = {
        "knowledge_base": {"file": str(folder / "base.sqlite")},
        "intent": {"mode": "static"},
        "checkpointer": {"type": "memory"},
        "store": {"type": "memory"},
        **settings,
    }
    fails, hangs, model.fails, model.hangs = model.fails, model.hangs, False, False
    with KnowledgeBase.open(load_settings(base), embeddings=model) as opened:
        opened.add_documents([Document("staff.md", STAFF, "text/markdown")])
    model.fails, model.hangs, model.told = fails, hangs, []
    beside = InMemorySource(["The wage of the boss is secret: nobody tells of a salary."], name="secret")
    async with open_graph(load_settings(base), embeddings=model, sources=[beside]) as graph:
        return await turns.ask(graph, question, "t")


async def test_the_sentence_that_means_what_is_asked_is_quoted_first(tmp_path: Path) -> None:
    model = Meaning()
    output = await quoted(tmp_path, model, "When do people receive their salary each year?")
    first = output["provenance"]["citation_check"]["quotes"][0]["text"]
    assert "The wage is paid" in first, output["answer"]
    # What was not found by vectors is nothing that the model has read.
    assert not any("secret" in text for text in model.told)


@pytest.mark.parametrize("fault", ["fails", "hangs"])
async def test_without_the_model_what_is_quoted_is_told_by_words(tmp_path: Path, fault: str) -> None:
    model = Meaning()
    setattr(model, fault, True)
    started = time.monotonic()
    output = await quoted(tmp_path, model, "How many days of leave are there?", deadlines={"model": 0.2})
    assert "25 days of leave" in output["answer"]
    assert time.monotonic() - started < 20
