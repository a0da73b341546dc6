"""What a document is about (K5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.core.document import MARKDOWN, Document
from groundgraph.ingest.builtin_chains import ingest_chains
from groundgraph.ingest.chunkers import HeadingChunker
from groundgraph.ingest.matching_texts import first_sentences, shortened
from groundgraph.settings.load_settings import load_settings
from groundgraph.testing import Rule, ScriptedChatModel

pytestmark = pytest.mark.covers("K5")

TEXT = (
    "---\ntitle: Pumps\n---\n# Pumps\n\nThis guide is about pumps. It is short.\n\n## Oil\n\nPump 17 needs oil.\n\n"
    "## Water\n\nPump 18 needs water.\n"
)
GUIDE = Document("g.md", TEXT, MARKDOWN, {"title": "Pumps"}, body_start=TEXT.index("# Pumps"))
CHUNKS = HeadingChunker(max_chunk_size=100, min_chunk_size=1)(GUIDE)


def chain(choice, model=None):
    settings = load_settings({"chains": {"documents": {"qualifying_text": choice}}})
    return ingest_chains(settings, "documents", model=model).qualifying_text


def test_without_a_model_it_is_title_heading_path_and_lead():
    texts = chain("document")(GUIDE, CHUNKS)
    lead = "This guide is about pumps. It is short. Pump 17 needs oil. Pump 18 needs water."
    assert texts == [f"Pumps\n{lead}", f"Pumps > Oil\n{lead}", f"Pumps > Water\n{lead}"]


def test_the_lead_is_as_long_as_configured():
    [first, *_] = chain({"name": "document", "lead_chars": 30})(GUIDE, CHUNKS)
    assert first == "Pumps\nThis guide is about pumps."


@given(st.text(max_size=400), st.integers(1, 100))
def test_a_lead_never_exceeds_its_limit_and_comes_from_the_document(text, limit):
    lead = first_sentences(Document("d", text), limit)
    assert len(lead) <= limit
    assert not lead or "".join(lead.split()) in "".join(text.split())


def test_a_document_of_one_endless_sentence_still_has_a_lead():
    assert first_sentences(Document("d", "word " * 1000), 22) == "word word word word"
    assert first_sentences(Document("d", "x" * 1000), 10) == "x" * 10


async def test_a_summary_is_written_once_for_all_chunks():
    model = ScriptedChatModel("<think>hm</think>A guide to two pumps.")
    assert await chain("summary", model)(GUIDE, CHUNKS) == ["A guide to two pumps."] * 3
    [call] = model.calls
    assert "Pump 18 needs water." in call.messages[1].text
    assert "title: Pumps" not in call.messages[1].text
    assert await chain("summary", model)(GUIDE, []) == []
    assert len(model.calls) == 1


async def test_the_place_is_written_for_each_chunk():
    rules = [Rule(r'name="passage">\n## Oil', "It says what oil does."), Rule("", "It is elsewhere.")]
    model = ScriptedChatModel(rules=rules)
    texts = await chain("place", model)(GUIDE, CHUNKS)
    assert texts == ["It is elsewhere.", "It says what oil does.", "It is elsewhere."]
    assert all("Pump 18 needs water." in call.messages[1].text for call in model.calls)
    assert "Pumps > Oil" in model.calls[1].messages[1].text


@pytest.mark.parametrize("name", ["summary", "place"])
async def test_of_a_long_document_the_model_reads_beginning_and_end(name):
    model = ScriptedChatModel("fine")
    long = Document("d", "begin " + "middle " * 500 + "end.")
    chunks = HeadingChunker()(long)[:1]
    await chain({"name": name, "document_chars": 100}, model)(long, chunks)
    shown = model.calls[0].messages[1].text.split('name="document">')[1].split("</passage>")[0]
    assert len(shown) < 150
    assert "begin" in shown
    assert "end." in shown


@given(st.text(max_size=300), st.integers(1, 100))
def test_shortening_leaves_short_texts_alone_and_bounds_long_ones(text, limit):
    short = shortened(text, limit)
    assert short == text if len(text) <= limit else len(short) <= limit + 5
