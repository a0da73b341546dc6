"""The texts by which a chunk is found (K5)."""

from __future__ import annotations

import pytest

from groundgraph.core.document import MARKDOWN, Chunk, Document
from groundgraph.ingest.builtin_chains import ingest_chains
from groundgraph.ingest.chunkers import HeadingChunker
from groundgraph.ingest.matching_texts import ContentWithHeadings, heading_path
from groundgraph.settings.load_settings import load_settings
from groundgraph.testing import ScriptedChatModel

pytestmark = pytest.mark.covers("K5")

GUIDE = Document("g.md", "# Guide\n\n## Pumps\n\nPump 17 needs oil.\n", MARKDOWN, {"title": "Guide"})
[CHUNK] = HeadingChunker()(GUIDE)


def chain(choice, model=None):
    settings = load_settings({"chains": {"documents": {"matching_text": choice}}})
    return ingest_chains(settings, "documents", model=model).matching_texts


async def test_without_a_model_the_text_is_the_heading_path_and_the_chunk():
    content = chain("content")
    assert isinstance(content, ContentWithHeadings)
    assert content(CHUNK, "about") == [f"Guide > Pumps\n{CHUNK.text}"]
    assert not content.generated


def test_the_title_stands_in_the_path_once():
    assert heading_path(CHUNK) == "Guide > Pumps"
    titled = Document("t", "x", metadata={"title": "T"})
    assert heading_path(Chunk(titled, 0, 0, 1, ("A", "B"), "x")) == "T > A > B"
    assert heading_path(Chunk(Document("t", "x"), 0, 0, 1, (), "x")) == ""


async def test_a_chunk_without_headings_is_found_by_itself():
    assert ContentWithHeadings()(Chunk(Document("t", "x"), 0, 0, 1, (), "x"), "") == ["x"]


async def test_a_model_writes_questions_told_the_qualifying_text():
    model = ScriptedChatModel("<think>hm</think>Questions:\n1. What does pump 17 need?\n- Which pump needs oil?\n")
    questions = chain("questions", model)
    assert await questions(CHUNK, "A guide to pumps.") == [
        "What does pump 17 need?",
        "Which pump needs oil?",
        f"Guide > Pumps\n{CHUNK.text}",
    ]
    assert questions.generated
    [call] = model.calls
    assert "questions" in call.messages[0].text
    assert '<passage name="context">\nA guide to pumps.\n' in call.messages[1].text
    assert CHUNK.text in call.messages[1].text


async def test_the_content_can_be_left_out():
    model = ScriptedChatModel("What does pump 17 need?")
    assert await chain({"name": "questions", "with_content": False}, model)(CHUNK, "") == ["What does pump 17 need?"]


async def test_at_most_bounds_what_the_model_may_write():
    model = ScriptedChatModel("\n".join(f"Question number {n}?" for n in range(30)))
    assert len(await chain({"name": "questions", "at_most": 3, "with_content": False}, model)(CHUNK, "")) == 3
    assert len(await chain({"name": "questions", "with_content": False}, model)(CHUNK, "")) == 20


async def test_a_chunk_about_which_the_model_has_nothing_to_say_is_found_by_its_content():
    texts = await chain({"name": "questions", "with_content": False}, ScriptedChatModel("Here they are:"))(CHUNK, "")
    assert texts == [f"Guide > Pumps\n{CHUNK.text}"]


@pytest.mark.covers("K9")
async def test_descriptions_stand_alone_unless_the_content_is_wanted():
    model = ScriptedChatModel("A quiet pump for oil.\nAn oil pump.")
    assert await chain("description", model)(CHUNK, "") == ["A quiet pump for oil.", "An oil pump."]
    assert "descriptions" in model.calls[0].messages[0].text
    with_content = await chain({"name": "description", "with_content": True}, model)(CHUNK, "")
    assert with_content[-1].endswith(CHUNK.text)
