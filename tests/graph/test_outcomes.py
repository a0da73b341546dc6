"""Whole conversations without a model: each turn ends as a reader would say that it must."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
import yaml
from langgraph.checkpoint.memory import InMemorySaver

from groundgraph import KnowledgeBase, SqlSource, load_settings, register_chain, turn_graph
from groundgraph.core.document import Document
from groundgraph.ingest.chain_registries import REGISTRIES

SET: dict[str, Any] = yaml.safe_load((Path(__file__).parents[1] / "data" / "conversations.yaml").read_text("utf-8"))


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the knowledge base and the tables of the set."""
    folder = tmp_path_factory.mktemp("outcomes")
    with KnowledgeBase.open(settings(folder)) as base:
        base.add_documents(Document(name, text, "text/markdown") for name, text in SET["documents"].items())
    connection = sqlite3.connect(folder / "shop.sqlite")
    for script in SET["tables"].values():
        connection.executescript(script)
    connection.close()
    return folder


def settings(folder: Path) -> Any:
    return load_settings(
        {
            "knowledge_base": {"file": str(folder / "kb.sqlite")},
            "sources": [{"type": "knowledge_base", "name": "docs", "path": str(folder / "kb.sqlite")}],
        }
    )


@pytest.mark.covers("A1", "A2", "A6", "A7", "A8")
@pytest.mark.parametrize("conversation", SET["conversations"], ids=lambda found: found["name"])
async def test_a_conversation_ends_as_a_reader_would_say(conversation: dict[str, Any], places: Path) -> None:
    shop = SqlSource(
        places / "shop.sqlite",
        name="shop",
        tables=list(SET["tables"]),
        index=":memory:",
        schema={"opened": {"type": "date"}},
    )
    graph = turn_graph(settings(places), sources=[shop], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t"}}
    for turn in conversation["turns"]:
        output = await graph.ainvoke({"messages": [("user", turn["ask"])]}, config)
        told = f"{turn['ask']}\n{output['outcome']} {output['support']}\n{output['answer']}\n{output['notes']}"
        assert output["outcome"] == turn["outcome"], told
        for words in _listed(turn.get("says", [])):
            assert words.casefold() in output["answer"].casefold() + " ".join(output["notes"]).casefold(), told
        for words in _listed(turn.get("lacks", [])):
            assert words not in output["answer"], told
    await shop.close()


def _listed(words: Any) -> list[str]:
    return words if isinstance(words, list) else [words]


@pytest.mark.covers("A3")
async def test_a_piece_found_by_a_text_that_was_written_for_it_or_by_a_transformed_query_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for registry in REGISTRIES.values():
        monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    register_chain("matching_text", "asked", lambda chunk, about: "How do I get my money back?", signature="1")
    register_chain("transformer", "formal", lambda query: query.replace("cash", "money back"))
    chains = {"documents": {"matching_text": "asked"}, "query": {"transformer": "formal"}}
    own = load_settings({"knowledge_base": {"file": str(tmp_path / "kb.sqlite")}, "chains": chains})
    with KnowledgeBase.open(own) as base:
        base.add_documents([Document("refunds.md", "Refunds are granted within 30 days of purchase.")])
    graph = turn_graph(own)
    for question in ("How do I get my money back?", "How do I get my cash?"):
        output = await graph.ainvoke({"question": question})
        assert output["support"]["answerable"] > 0.3
        assert [row["text"] for row in output["provenance"]["results"]]
        assert output["outcome"] != "insufficient" or "comes closest" in output["answer"], output["answer"]
    other = await graph.ainvoke({"question": "Who painted the office?"})
    assert other["outcome"] == "insufficient"
