"""Questions that name a document, among documents that speak alike (S7, S8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import turns

from groundgraph import KnowledgeBase, load_settings
from groundgraph.core.document import Document
from groundgraph.evals.run_conversations import has_doubt
from groundgraph.prompts import Prompts
from groundgraph.sources.knowledge_base import KnowledgeBaseSource

pytestmark = pytest.mark.covers("S7", "S8")

PACKAGES = {
    "mallard": "## Installation\n\nIt is installed with pip.\n\n## Authors\n\nThe author of it is Ada Kestrel.",
    "teal": "## Installation\n\nIt is built from its sources.\n\n## Logging\n\nEach level has a colour of its own.",
    "wigeon": "# Wigeon, a duck\n\n## Installation\n\nIt comes with the system.",
}


@pytest.fixture
async def graph(tmp_path: Path) -> Any:
    path = tmp_path / "base.sqlite"
    with KnowledgeBase.open(load_settings({"knowledge_base": {"file": str(path)}})) as base:
        base.add_documents(Document(f"{name}.md", text, "text/markdown") for name, text in PACKAGES.items())
    source = KnowledgeBaseSource(path)
    yield turns.build(sources=[source])
    await source.close()


@pytest.mark.parametrize(
    ("name", "text"), [("mallard", "with pip"), ("teal", "from its sources"), ("wigeon", "with the system")]
)
async def test_what_is_said_of_another_document_is_not_quoted(graph: Any, name: str, text: str) -> None:
    output = await turns.ask(graph, f"How is {name} installed?")
    assert [text in citation["quote"] for citation in output["citations"]] == [True]
    assert f"{'Wigeon, a duck' if name == 'wigeon' else name} > Installation" in output["answer"]


async def test_what_another_document_says_is_no_answer(graph: Any) -> None:
    assert "Ada Kestrel" in (await turns.ask(graph, "Who is the author of mallard?"))["answer"]
    output = await turns.ask(graph, "Who is the author of teal?")
    assert "Ada Kestrel" not in output["answer"]
    assert output["outcome"] == "insufficient" or has_doubt(output, Prompts())


async def test_each_part_of_a_question_may_name_another_document(graph: Any) -> None:
    output = await turns.ask(graph, "How is mallard installed? And how is teal installed?")
    assert {citation["source_id"].partition("#")[0] for citation in output["citations"]} == {"mallard.md", "teal.md"}


async def test_a_document_has_the_title_that_it_was_given_or_that_its_file_would_have(tmp_path: Path) -> None:
    given = [
        Document("a.md", "Text.", "text/markdown", {"title": "Given"}),
        Document("b.md", "# Own\n\nText.", "text/markdown"),
        Document("c.md", "Text.", "text/markdown"),
        Document("note 7", "Text.", "text/markdown"),
    ]
    with KnowledgeBase.open(load_settings({"knowledge_base": {"file": str(tmp_path / "base.sqlite")}})) as base:
        base.add_documents(given)
        assert [base.document(one.name).title for one in given] == ["Given", "Own", "c", ""]
        # What is known of a document is what was given.
        assert base.add_documents(given).unchanged == len(given)
