"""Models by name, "provider:model", wherever Python takes one, and LangChain's caches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from lacking_package import lacking
from langchain_core.caches import InMemoryCache
from langchain_core.globals import set_llm_cache
from turns import ask, build, docs
from wire_ollama import OllamaWire
from wires import wired

from groundgraph import KnowledgeBase, QueryBot, load_settings, turn_graph
from groundgraph.core.document import Document
from groundgraph.core.errors import ConfigurationError, EmbeddingModelChanged
from groundgraph.models.chat_model import configured_model
from groundgraph.settings.services import ModelSettings
from groundgraph.testing import Reply, Rule
from groundgraph.testing.models import Script
from groundgraph.testing.wire_stub import WireStub

pytestmark = pytest.mark.covers("B6")

ANSWER = "OAuth has four grant types [1]."
NAME = "ollama:test-model"
RULES = [
    Rule("search request", Reply.json({"text_queries": ["OAuth grant types"]})),
    Rule("search queries", "OAuth grant types"),
    Rule("", ANSWER),
]


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[WireStub]:
    """Ollama where its clients look for it."""
    stub = WireStub(OllamaWire(), Script(rules=RULES), strict=True)
    monkeypatch.setenv("OLLAMA_HOST", stub.host)
    yield stub
    stub.close()


@pytest.mark.parametrize("parts", [{"chat_model": NAME}, {"query_model": NAME}, {"extractor": NAME}])
async def test_a_turn_takes_names(ollama: WireStub, parts: dict[str, str]) -> None:
    result = await ask(build(base={"intent": {"mode": "extract"}}, sources=[docs()], **parts))
    assert result["citations"][0]["source_id"] == "oauth"
    assert {call["model"] for call in result["provenance"]["models"]} == {"test-model"}
    assert {request.path for request in ollama.requests} == {"/api/chat"}


def test_a_base_takes_the_name_of_its_embedding_model_and_remembers_it(ollama: WireStub, tmp_path: Path) -> None:
    settings = load_settings({"knowledge_base": {"file": str(tmp_path / "kb.sqlite")}})
    with KnowledgeBase.open(settings, embeddings=NAME) as base:
        report = base.add_documents([Document("pumps.md", "Pump 17 is serviced every 90 days.")])
    assert report.written == 1, report
    assert {request.path for request in ollama.requests} == {"/api/embed"}
    another = KnowledgeBase.open(settings, embeddings="ollama:another")
    with another as base, pytest.raises(EmbeddingModelChanged, match=NAME):
        base.add_documents([Document("more.md", "Pump 18 is retired.")])


def test_a_bot_takes_names(ollama: WireStub) -> None:
    reply = QueryBot("You help mechanics.", docstore=docs(), chat_model=NAME, log=False)("Which grant types are there?")
    assert (reply.text, ollama.requests[-1].body["model"]) == (ANSWER, "test-model")


def test_names_that_lead_nowhere_are_told_where_they_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_settings({})
    for key in ("chat_model", "query_model", "extractor", "embeddings"):
        with pytest.raises(ConfigurationError, match=key):
            turn_graph(settings, sources=[docs()], **{key: "nobody:knows"})  # type: ignore[arg-type]
    lacking("langchain_mistralai", monkeypatch)
    with pytest.raises(ConfigurationError, match=r'chat_model: .* need: pip install "groundgraph\[mistral\]"'):
        turn_graph(settings, sources=[docs()], chat_model="mistralai:mistral-small-latest")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("openai:gpt-5-mini", "OPENAI_API_KEY"),
        ("anthropic:claude-sonnet-4-5", "set the variable ANTHROPIC_API_KEY"),
        ("google_genai:gemini-2.5-flash", "GOOGLE_API_KEY"),
        ("mistralai:mistral-small-latest", "set the variable MISTRAL_API_KEY"),
        ("nobody:knows", "there is no model provider 'nobody'; write provider and model, as in openai:gpt-5-mini"),
        ("openai", "'openai' names no provider; write provider and model, as in openai:gpt-5-mini"),
        ("ollama:", "names no model; write it behind the provider"),
    ],
)
def test_a_name_that_cannot_work_is_told_with_what_to_do(name: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("OPENAI", "ANTHROPIC", "GOOGLE", "GEMINI", "MISTRAL"):
        monkeypatch.delenv(f"{key}_API_KEY", raising=False)
    with pytest.raises(ConfigurationError) as caught:
        turn_graph(sources=[docs()], chat_model=name)
    assert str(caught.value).startswith("chat_model: ")
    assert told in str(caught.value)
    # No variable of ours sets what Python passes in.
    assert "GROUNDGRAPH_" not in str(caught.value)


async def test_langchains_caches_keep_replies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langchain_core.globals._llm_cache", None)
    set_llm_cache(InMemoryCache())
    for chosen, asked in ((False, 3), ("memory", 1), (True, 1)):
        with wired("openai", default=ANSWER, cache=chosen) as (stub, llm):
            model = configured_model(ModelSettings(**llm), "llm")
            assert [(await model.ainvoke("x")).text for _ in range(3)] == [ANSWER] * 3
        assert len(stub.requests) == asked
