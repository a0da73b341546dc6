"""Functions and Runnables in the place of a chain (K3)."""

from __future__ import annotations

import threading

import pytest
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda

from groundgraph.core.chain import Match
from groundgraph.core.document import Chunk, Document
from groundgraph.core.errors import ChainContractBroken
from groundgraph.core.evidence import SourceResult
from groundgraph.ingest.register_chain import stand_in
from groundgraph.testing import ScriptedChatModel

pytestmark = pytest.mark.covers("K3")

DOCUMENT = Document("d", "One. Two. Three.", metadata={"title": "T"})
CHUNKS = [Chunk(DOCUMENT, 0, 0, 4, ("H",), "One."), Chunk(DOCUMENT, 1, 5, 9, (), "Two.")]
RESULTS = [SourceResult("a", "1", "kb", "k"), SourceResult("b", "2", "kb", "k")]
MATCHES = [Match(RESULTS[0], 0.9, 0.8), Match(RESULTS[1], 0.2)]


def prompt(text: str, reply: str):
    """A Runnable of a prompt, a model and a parser; the model is returned beside it."""
    model = ScriptedChatModel(reply)
    return ChatPromptTemplate.from_template(text) | model, model


async def test_a_plain_function_stands_in_for_each_of_the_six():
    def run(kind, function, *arguments):
        return stand_in(kind, function, "own")(*arguments)

    chunks = await run("chunker", lambda document: document.text.split(), DOCUMENT)
    assert [(chunk.start, chunk.end, chunk.text, chunk.derived) for chunk in chunks] == [
        (0, 4, "One.", False),
        (5, 9, "Two.", False),
        (10, 16, "Three.", False),
    ]
    assert await run("qualifying_text", lambda document, chunks: document.title, DOCUMENT, CHUNKS) == ["T", "T"]
    assert await run("matching_text", lambda chunk, about: [about, chunk.text], CHUNKS[0], "x") == ["x", "One."]
    assert await run("transformer", str.upper, "food") == "FOOD"
    assert await run("reranker", lambda query, found: [0.5] * len(found), "q", RESULTS) == [0.5, 0.5]
    decisions = await run("filter", lambda query, found: [match.match_score > 0.5 for match in found], "q", MATCHES)
    assert decisions == [True, False]


async def test_a_coroutine_function_and_an_object_stand_in_too():
    async def shout(query: str) -> str:
        return query.upper()

    class Polite:
        signature = "polite 2"

        def __call__(self, query: str) -> str:
            return f"{query}, please"

    assert await stand_in("transformer", shout, "own")("food") == "FOOD"
    polite = stand_in("transformer", Polite(), "own")
    assert await polite("food") == "food, please"
    assert polite.signature == "own polite 2"


@pytest.mark.covers("fault 77")
async def test_a_plain_function_runs_beside_the_event_loop():
    seen = []
    await stand_in("transformer", lambda query: seen.append(threading.current_thread()) or query, "own")("q")
    assert seen[0] is not threading.main_thread()


async def test_a_runnable_stands_in_for_each_of_the_six():
    cut, model = prompt("Cut {title} {name} {kind}: {text}", "One.\n\nInvented.")
    chunks = await stand_in("chunker", cut, "own")(DOCUMENT)
    assert [(chunk.text, chunk.derived) for chunk in chunks] == [("One.", False), ("Invented.", True)]
    assert model.calls[0].text == "Cut T d documents: One. Two. Three."

    about, model = prompt("{title}: {chunks}", "<think>hm</think>About T.")
    assert await stand_in("qualifying_text", about, "own")(DOCUMENT, CHUNKS) == ["About T."] * 2
    assert model.calls[0].text == "T: ['One.', 'Two.']"

    ask, model = prompt("{title}/{section}/{qualifying_text}/{text}", "1. What is one?\n2. What is two?")
    assert await stand_in("matching_text", ask, "own")(CHUNKS[0], "x") == ["What is one?", "What is two?"]
    assert model.calls[0].text == "T/T > H/x/One."

    reword, _ = prompt("{query}", "Where is the food?")
    assert await stand_in("transformer", reword, "own")("food") == "Where is the food?"
    assert await stand_in("transformer", reword | StrOutputParser(), "own")("food") == "Where is the food?"

    judge = RunnableLambda(lambda given: [float(text == given["query"]) for text in given["candidates"]])
    assert await stand_in("reranker", judge, "own")("b", RESULTS) == [0.0, 1.0]

    keep = RunnableLambda(lambda given: [match["rerank_score"] is not None for match in given["matches"]])
    assert await stand_in("filter", keep, "own")("q", MATCHES) == [True, False]


@pytest.mark.parametrize(
    ("kind", "answer", "arguments", "told"),
    [
        ("chunker", [1], (DOCUMENT,), "must return chunks or texts"),
        ("qualifying_text", ["one"], (DOCUMENT, CHUNKS), "2 texts, not 1 of them"),
        ("matching_text", [], (CHUNKS[0], ""), "at least one text"),
        ("matching_text", [3], (CHUNKS[0], ""), "must return texts"),
        ("transformer", None, ("q",), "a text, not NoneType"),
        ("reranker", [0.5], ("q", RESULTS), "2 scores, not 1 of them"),
        ("reranker", [0.5, 1.5], ("q", RESULTS), "from 0 to 1, not 1.5"),
        ("reranker", [0.5, float("nan")], ("q", RESULTS), "from 0 to 1"),
        ("reranker", "ab", ("q", RESULTS), "2 scores, not str"),
        ("filter", [True], ("q", MATCHES), "2 decisions, not 1 of them"),
    ],
)
async def test_what_the_protocol_does_not_allow_is_an_error_that_names_the_chain(kind, answer, arguments, told):
    with pytest.raises(ChainContractBroken, match=told) as caught:
        await stand_in(kind, lambda *_: answer, "own")(*arguments)
    assert "the chain 'own'" in str(caught.value)


async def test_one_text_is_one_matching_text_with_its_line_breaks():
    assert await stand_in("matching_text", lambda chunk, about: "two\nlines", "own")(CHUNKS[0], "") == ["two\nlines"]


def test_what_can_not_be_called_is_refused():
    with pytest.raises(TypeError, match="'own' is neither a function nor a Runnable, but a str"):
        stand_in("transformer", "x", "own")


@pytest.mark.covers("K6")
def test_texts_of_a_stand_in_count_as_generated_unless_it_says_otherwise():
    def same(chunk, about):
        return chunk.text

    assert stand_in("matching_text", same, "own").generated
    assert not stand_in("matching_text", same, "own", generated=False).generated
    same.generated = False
    assert not stand_in("matching_text", same, "own").generated
