"""A knowledge base that has to search without its vectors, seen from a turn (R7, S8)."""

from __future__ import annotations

import pytest
from filled_base import fill
from langchain_core.embeddings import Embeddings
from langchain_core.messages import HumanMessage
from turns import build

from groundgraph.core.document import Document
from groundgraph.core.embedder import Embedder
from groundgraph.sources.cascade import CascadeSource
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
    assert ": knowledge_base could not be reached" in output["answer"]


@pytest.mark.covers("S8", "C1")
async def test_nothing_found_beside_a_file_that_an_edit_broke_is_no_outage(tmp_path):
    file = tmp_path / "shop.yaml"
    file.write_text("sections: {rate: {facts: [The rate is 790 roubles a year.]}}")
    source = CascadeSource(tmp_path, name="shop")
    graph = build(base={}, sources=[source])
    await graph.ainvoke({"messages": [HumanMessage("What is the rate?")]})
    file.write_text("sections: [")
    output = await graph.ainvoke({"messages": [HumanMessage("What is a giraffe?")]})
    await source.close()
    assert output["outcome"] == "insufficient"
    assert any("newest files" in note and "shop.yaml, line 2, is wrong" in note for note in output["notes"])
