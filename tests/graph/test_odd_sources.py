"""What sources of users answer in practice: odd values fail the source or are put right, never the turn."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langgraph.checkpoint.memory import InMemorySaver
from turns import STATIC, ask, asking, build, docs, thread
from written_source import Written

from groundgraph import (
    GroundedSource,
    InMemorySource,
    LangChainSource,
    SourceResult,
    load_provenance,
    load_settings,
    turn_graph,
)
from groundgraph.testing import ScriptedChatModel


class Float32(float):
    """A number of another library: not a plain float."""


def result(**values: object) -> SourceResult:
    fields = {"content": "Odd grants.", "source_id": "a", "source_name": "odd", "source_type": "written"}
    return SourceResult(**{**fields, **values})


async def turn(answer: object, **options: object) -> dict:
    graph = build(base=STATIC, synthesis={"style": "structured"}, sources=[Written(answer), docs()], **options)
    return await graph.ainvoke(asking(), thread() if options else None)


@pytest.mark.covers("R1")
@pytest.mark.parametrize(
    "values",
    [
        {"source_id": 7},
        {"metadata": None},
        {"relevance": Decimal("0.9")},
        {"relevance": Float32(0.9)},
        {"relevance": 1},
    ],
)
async def test_values_that_mean_something_plain_are_put_right(values: dict, sqlite: dict) -> None:
    answered = await turn([result(**{"relevance": 1.0, **values})], **sqlite)
    report = answered["provenance"]["sources"]["odd"]
    assert (report["status"], report["kept"]) == ("ok", 1)
    assert answered["outcome"] == "answered"


@pytest.mark.covers("fault 33")
@pytest.mark.parametrize(
    "answer",
    [
        asyncio.CancelledError("its own"),
        [result(relevance=float("nan"))],
        [result(relevance="much")],
        ["no result"],
        None,
    ],
    ids=["cancelled", "nan", "words", "string", "none"],
)
async def test_what_means_nothing_fails_the_source_and_not_the_turn(answer: object) -> None:
    answered = await turn(answer)
    assert answered["outcome"] == "answered"
    report = answered["provenance"]["sources"]["odd"]
    assert report["status"] == "failed"
    assert any("odd" in note for note in answered["notes"])


async def test_an_only_source_whose_relevances_are_all_nan_is_an_outage_and_not_ignorance() -> None:
    graph = turn_graph(load_settings(STATIC), sources=[Written([result(relevance=float("nan"))])])
    assert (await ask(graph))["outcome"] == "unavailable"


@pytest.mark.covers("fault 2")
async def test_lone_surrogates_anywhere_can_be_kept(sqlite: dict) -> None:
    odd = [result(content="Odd \ud800 grants\x00.", source_id="a\udfff", metadata={"title": "x\ud83d"}, relevance=1.0)]
    graph = build("Odd \ud800 grants [1].", sources=[Written(odd)], **sqlite)
    answered = await ask(graph, "Which grants \ud800?", "t")
    kept = (await graph.aget_state(thread())).values["messages"][-1].text
    assert answered["answer"] == kept
    assert answered["citations"][0]["label"] == 1
    assert not any("\ud800" <= char <= "\udfff" for char in str(answered["provenance"]))


async def test_a_failing_source_that_speaks_in_surrogates_can_be_kept(tmp_path: Path) -> None:
    answered = await turn(RuntimeError("bad \ud800"), checkpointer=InMemorySaver())
    assert "bad \ufffd" in answered["provenance"]["sources"]["odd"]["error"]


SAME_ID = [("x", "Pump 17 is serviced every 90 days."), ("x", "Pump 17 is painted blue and serviced.")]


def _in_memory() -> GroundedSource:
    return InMemorySource([{"id": name, "content": text} for name, text in SAME_ID], name="odd")


def _written() -> GroundedSource:
    return Written([result(source_id=name, content=text) for name, text in SAME_ID])


class Fixed(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
        return [Document(page_content=text, id=name) for name, text in SAME_ID]


def _of_langchain() -> GroundedSource:
    return LangChainSource(Fixed(), name="odd")


@pytest.mark.covers("F9", "fault 99")
@pytest.mark.parametrize("source", [_in_memory, _written, _of_langchain])
@pytest.mark.parametrize("queries", [1, 2])
async def test_one_id_with_two_texts_is_two_pieces_of_evidence_both_cited_rightly(source, queries):
    asked = ["pump 17 serviced", "pump 17 painted blue"][:queries]
    intent = {"mode": "template", "template": f"text_queries: {asked}"}
    model = ScriptedChatModel(["Pump 17 is serviced every 90 days [1]. It is painted blue and serviced [2]."])
    graph = build(model, memory=True, intent=intent, synthesis={"style": "conversational"}, sources=[source()])
    output = await ask(graph, "How often is pump 17 serviced?", "t")
    record = await load_provenance(graph, "t")
    shown = {row["label"]: row["text"] for row in record["results"]}
    assert sorted(shown.values()) == sorted(text for _, text in SAME_ID)
    assert [citation["source_id"] for citation in output["citations"]] == ["x", "x"]
    for citation in output["citations"]:
        assert citation["quote"] in shown[citation["label"]]
