"""The configured chains at work, from documents to an answered query (K3 to K7)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from groundgraph import load_settings, retrieval_graph, retrieve_context
from groundgraph.graph.ingest import ingest_graph
from groundgraph.settings.settings import Settings
from groundgraph.testing import NgramEmbeddings, Prompt, Reply, Rule, ScriptedChatModel

FOOD = "# Food\n\n## Alaska\n\nSalmon is eaten in Alaska.\n\n## Peru\n\nPotatoes are eaten in Peru.\n"
BINDINGS = {
    "documents": {"matching_text": "questions", "qualifying_text": "summary"},
    "query": {"transformer": "question", "reranker": "judge"},
}


def settings(tmp_path: Path, **sections: Any) -> Settings:
    docs = tmp_path / "docs"
    docs.mkdir(exist_ok=True)
    (docs / "food.md").write_text(FOOD, "utf-8")
    base = {"file": str(tmp_path / "base.sqlite"), "path": str(docs)}
    return load_settings({"knowledge_base": base, "intent": {"mode": "static"}, **sections})


def questions(prompt: Prompt) -> str:
    passage = prompt.text.split('name="passage"')[1]
    return "What is eaten in Alaska?" if "Salmon" in passage else "What is eaten in Peru?"


def model(judgement: str | Reply = "1: 4\n2: 0") -> ScriptedChatModel:
    return ScriptedChatModel(
        rules=[
            Rule("Write the questions", questions),
            Rule("Summarise", "A text on food."),
            Rule("Turn what the user typed", "What is eaten in Alaska?"),
            Rule("Judge for each", judgement),
        ]
    )


async def ingested(chosen: Settings, scripted: ScriptedChatModel) -> dict[str, Any]:
    graph = ingest_graph(chosen, chat_model=scripted, embeddings=NgramEmbeddings())
    report: dict[str, Any] = (await graph.ainvoke({"paths": [str(chosen.knowledge_base.path)]}))["report"]  # type: ignore[union-attr]
    return report


@pytest.mark.covers("K6")
async def test_a_query_is_transformed_judged_and_filtered_before_the_cut(tmp_path: Path) -> None:
    chosen, scripted = settings(tmp_path, bindings=BINDINGS), model()
    assert (await ingested(chosen, scripted))["failed"] == []
    graph = retrieval_graph(chosen, chat_model=scripted, embeddings=NgramEmbeddings())
    found = await retrieve_context(graph, "food in alaska")
    assert [(piece["relevance"], piece["metadata"]["section"]) for piece in found.evidence] == [(1.0, "Food > Alaska")]
    assert [call["role"] for call in found.provenance["models"]] == ["query_as_question", "judge"]
    source: Any = graph.resources.sources["knowledge_base"]
    matches = await source.matches("food in alaska", top_k=5)
    assert [(match.rerank_score, match.kept) for match in matches] == [(1.0, True), (0.0, False)]
    assert matches[0].match_score > 0.99, "the question is the matching text"
    await graph.resources.close()


@pytest.mark.covers("fault 39")
async def test_a_judge_that_fails_leaves_the_order_and_is_named(tmp_path: Path) -> None:
    chosen, scripted = settings(tmp_path, bindings=BINDINGS), model(Reply(status=400))
    await ingested(chosen, scripted)
    graph = retrieval_graph(chosen, chat_model=scripted, embeddings=NgramEmbeddings())
    found = await retrieve_context(graph, "food in alaska")
    assert found.evidence[0]["metadata"]["section"] == "Food > Alaska"
    assert any("400" in note for note in found.provenance["notes"])
    await graph.resources.close()


@pytest.mark.covers("K5")
async def test_a_document_whose_model_failed_is_reported_and_tried_again_next_time(tmp_path: Path) -> None:
    chosen = settings(tmp_path, bindings=BINDINGS)
    report = await ingested(chosen, ScriptedChatModel(Reply(status=400)))
    [failure] = report["failed"]
    assert "400" in failure["reason"]
    assert report["documents"] == 0
    report = await ingested(chosen, model())
    assert (report["written"], report["failed"]) == (1, [])


@pytest.mark.covers("K1")
async def test_unchanged_documents_cost_no_model_call_and_another_chain_costs_all(tmp_path: Path) -> None:
    chosen, scripted = settings(tmp_path, bindings=BINDINGS), model()
    await ingested(chosen, scripted)
    calls = len(scripted.calls)
    assert calls == 3
    assert (await ingested(chosen, scripted))["unchanged"] == 1
    assert len(scripted.calls) == calls
    other = {"documents": {**BINDINGS["documents"], "matching_text": {"name": "questions", "with_content": False}}}
    assert (await ingested(settings(tmp_path, bindings=other), scripted))["written"] == 1
