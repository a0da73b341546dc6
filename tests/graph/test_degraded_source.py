"""A knowledge base that has to search without its vectors, seen from a turn (R7, S8)."""

from __future__ import annotations

import pytest
from filled_base import fill
from langchain_core.embeddings import Embeddings
from langchain_core.messages import HumanMessage
from turns import build

from groundgraph.core.document import Document
from groundgraph.core.embedder import Embedder
from groundgraph.sources.knowledge_base import KnowledgeBaseSource
from groundgraph.testing import NgramEmbeddings

pytestmark = pytest.mark.covers("R7")


class Down(Embeddings):
    def embed_query(self, text: str) -> list[float]:
        raise ConnectionError("no route to the embedding service")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise ConnectionError("no route to the embedding service")


@pytest.fixture
async def graph(tmp_path):
    await fill(
        tmp_path / "kb.sqlite", [Document("a", "The refund is paid.")], embedder=Embedder(NgramEmbeddings(), "m")
    )
    source = KnowledgeBaseSource(tmp_path / "kb.sqlite", embedder=Embedder(Down(), "m"))
    yield build(base={}, sources=[source])
    await source.close()


async def test_a_turn_answers_by_words_and_its_notes_and_provenance_tell_what_was_missing(graph):
    output = await graph.ainvoke({"messages": [HumanMessage("When is the refund paid?")]})
    assert output["outcome"] == "answered"
    [note] = output["notes"][:1]
    assert '"knowledge_base" was searched without its vectors' in note
    assert note.endswith("ConnectionError: it cannot be reached")
    [told] = output["provenance"]["sources"]["knowledge_base"]["degraded"]
    assert told == {
        "part": "vectors", "reason": "no route to the embedding service", "error_type": "ConnectionError",
    }  # fmt: skip


async def test_the_note_is_in_the_language_of_the_question(graph):
    output = await graph.ainvoke({"messages": [HumanMessage("Когда выплачивается refund и как?")]})
    assert any("без векторов" in note for note in output["notes"])


@pytest.mark.covers("S8")
async def test_nothing_found_without_the_vectors_is_unavailable(graph):
    output = await graph.ainvoke({"messages": [HumanMessage("What is a giraffe?")]})
    assert output["outcome"] == "unavailable"
