"""The chunker that has a model write short pieces out of a document (K5, K9)."""

from __future__ import annotations

import pytest

from groundgraph.core.document import MARKDOWN, PDF, Document, Part
from groundgraph.ingest.builtin_chains import ingest_chains
from groundgraph.ingest.chunkers import HeadingChunker, paragraphs
from groundgraph.resilience.blocking import call_chain
from groundgraph.settings.load_settings import load_settings
from groundgraph.testing import Rule, ScriptedChatModel

pytestmark = pytest.mark.covers("K5")

ARTICLE = Document("a.md", "# Advice\n\nBe brief.\n\n# More\n\nShow numbers.\n", MARKDOWN, {"title": "Decks"})


def chunker(choice="digest", model=None, **base):
    settings = load_settings({"chains": {"documents": {"chunker": choice}}, "knowledge_base": base})
    return ingest_chains(settings, "documents", model=model).chunker


async def test_each_paragraph_is_a_derived_chunk_that_spans_what_it_was_made_from():
    model = ScriptedChatModel(
        rules=[Rule("Be brief", "Keep it short.\n\nLeave things out."), Rule("Show numbers", "Numbers help.")]
    )
    chunks = await call_chain(chunker(model=model), ARTICLE)
    assert [chunk.text for chunk in chunks] == ["Keep it short.", "Leave things out.", "Numbers help."]
    assert [chunk.position for chunk in chunks] == [0, 1, 2]
    assert all(chunk.derived for chunk in chunks)
    assert [ARTICLE.text[chunk.start : chunk.end] for chunk in chunks] == [
        "# Advice\n\nBe brief.",
        "# Advice\n\nBe brief.",
        "# More\n\nShow numbers.",
    ]
    assert [chunk.headings for chunk in chunks] == [("Advice",), ("Advice",), ("More",)]
    assert "worth keeping" in model.calls[0].messages[0].text


async def test_what_is_made_from_a_page_keeps_the_page():
    pages = Document("a.pdf", "One.\fTwo.", PDF, parts=(Part(0, 4, {"page": 1}), Part(5, 9, {"page": 2})))
    chunks = await call_chain(chunker(model=ScriptedChatModel("A thing.")), pages)
    assert [(chunk.metadata, chunk.origin, chunk.start) for chunk in chunks] == [
        ({"page": 1}, 0, 0),
        ({"page": 2}, 5, 5),
    ]


async def test_a_long_document_is_read_stretch_by_stretch():
    model = ScriptedChatModel("A thing.")
    long = Document("d", "All work and no play. " * 100)
    chunks = await call_chain(chunker({"name": "digest", "stretch_chars": 500}, model), long)
    assert len(chunks) == len(model.calls) == 5
    assert await call_chain(chunker(model=ScriptedChatModel("A thing.")), long) != chunks


async def test_a_document_without_anything_worth_keeping_gives_no_chunk():
    assert await call_chain(chunker(model=ScriptedChatModel("NONE.")), ARTICLE) == []
    assert await call_chain(chunker(model=ScriptedChatModel("NONE")), Document("d", "  ")) == []


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("One thing.\n\nTwo\nthings.", ["One thing.", "Two things."]),
        ("- One thing.\n- Two things.", ["One thing.", "Two things."]),
        ("1. One thing.\n2. Two things.\n", ["One thing.", "Two things."]),
        ("Here they are:\n\nOne thing.\n \nOne thing.", ["One thing."]),
        ("3.5 percent is a lot.", ["3.5 percent is a lot."]),
        ("", []),
    ],
)
def test_replies_are_read_leniently(reply, told):
    assert paragraphs(reply) == told


def test_without_a_model_the_document_is_cut():
    assert chunker() == HeadingChunker(800)
    assert chunker(chunker={"max_chunk_size": 300}) == HeadingChunker(300)
