"""The record of a turn (V1, V2)."""

from __future__ import annotations

import json
import re
from functools import partial

import pytest
import turns
from langgraph.checkpoint.memory import InMemorySaver
from turns import QUESTION, ask, docs, thread

from groundgraph import load_provenance, turn_graph
from groundgraph.core.errors import EvidenceMissing
from groundgraph.report.turn_page import turn_text
from groundgraph.testing import FaultySource, openai_stub

V1 = {
    *("turn_id", "thread_id", "question", "outcome", "answer", "style", "intent", "sources", "results_by_source"),
    *("results", "total_results", "deduplicated_to", "retrieval_time_ms", "intent_resolution_time_ms"),
    *("steps", "timings_ms", "strategies", "models", "citation_check", "notes"),
}


build = partial(turns.build, memory=True)


@pytest.mark.covers("V1")
@pytest.mark.parametrize("style", ["structured", "conversational"])
async def test_the_record_is_complete_for_every_style(style: str) -> None:
    record = (await ask(build("Four [1].", synthesis={"style": style}), on="t"))["provenance"]
    assert not V1 - set(record)
    assert record["intent"]["text_queries"] == [QUESTION]
    first = record["results"][0]
    assert first["label"] == 1
    assert first["text"].startswith("OAuth has four")
    assert first["text_preview"]
    assert first["metadata"]["section"] == "OAuth > Grants"
    assert record["sources"]["docs"]["status"] == "ok"
    expected = ["resolve_intent", "merge_results", "judge_evidence", "answer", "check_citations"]
    assert [step["step"] for step in record["steps"]] == list(record["timings_ms"]) == expected
    assert [call["role"] for call in record["models"]] == (["answer"] if style == "conversational" else [])
    json.dumps(record)


@pytest.mark.covers("V1", "V2")
async def test_the_thread_holds_references_and_the_store_the_rest() -> None:
    graph = build()
    result = await ask(graph, on="t")
    metadata = (await graph.aget_state(thread())).values["metadata"]
    compact = metadata["retrieval_provenance"]
    assert compact["total_results"] == 2
    assert compact["intent"]["text_queries"] == [QUESTION]
    assert "four grant types" not in json.dumps(metadata)
    assert await load_provenance(graph, "t") == result["provenance"]
    with pytest.raises(EvidenceMissing, match="no record of the turn 'nope'"):
        await load_provenance(graph, "t", "nope")
    with pytest.raises(EvidenceMissing, match="'other' has no turn"):
        await load_provenance(graph, "other")


@pytest.mark.covers("V2")
async def test_a_graph_without_a_store_says_that_it_keeps_no_records() -> None:
    graph = turn_graph(sources=[docs()], checkpointer=InMemorySaver())
    await ask(graph, on="t")
    with pytest.raises(EvidenceMissing, match="has no store") as caught:
        await load_provenance(graph, "t")
    assert "the store that the turn ran with" not in str(caught.value)


@pytest.mark.covers("T4", "V1")
@pytest.mark.parametrize(
    ("source", "status", "tries"),
    [
        (FaultySource(docs(), error=ConnectionError("down")), "failed", 2),
        (FaultySource(docs(), error=ValueError("bad column")), "failed", 1),
        (FaultySource(docs(), delay=30), "timed_out", 1),
    ],
)
async def test_a_source_that_never_answered_was_asked_as_often_as_its_record_says(source, status, tries) -> None:
    graph = turn_graph({"limits": {"attempts": 2}, "deadlines": {"source": 0.4}}, sources=[source])
    (report,) = (await graph.ainvoke({"question": QUESTION}))["provenance"]["sources"].values()
    assert (report["status"], report["attempts"]) == (status, tries)


@pytest.mark.covers("V1", "fault 31")
async def test_the_error_of_a_late_source_says_what_happened_and_its_note_how_long_it_was_waited_for() -> None:
    graph = turn_graph({"deadlines": {"source": 0.2}}, sources=[FaultySource(docs(), delay=30)])
    output = await graph.ainvoke({"question": QUESTION})
    (report,) = output["provenance"]["sources"].values()
    (seconds,) = re.findall(r"^no answer within (0\.2\d?) s$", report["error"])
    assert f"did not answer within {seconds} s and was left out" in output["notes"][0]
    shown = turn_text(output["provenance"])
    assert f"no answer within {seconds} s" in shown


@pytest.mark.covers("V2")
async def test_the_history_keeps_the_last_ten_turns() -> None:
    graph = build()
    for n in range(12):
        await ask(graph, f"grant types {n}", "user.1@example.com")
    history = (await graph.aget_state(thread("user.1@example.com"))).values["metadata"]["retrieval_provenance_history"]
    assert [entry["question"] for entry in history] == [f"grant types {n}" for n in range(2, 12)]
    assert set(history[0]) == {"turn_id", "question", "outcome", "total_results", "deduplicated_to"}
    first = await load_provenance(graph, "user.1@example.com", history[0]["turn_id"])
    assert first["question"] == "grant types 2"


@pytest.mark.covers("V1")
async def test_it_can_be_turned_off() -> None:
    graph = build(store_provenance=False)
    await ask(graph, on="t", metadata={"mine": 1})
    assert (await graph.aget_state(thread())).values["metadata"] == {"mine": 1}
    assert await graph.store.asearch(("groundgraph", "provenance")) == []


@pytest.mark.covers("V2")
async def test_a_caller_cannot_write_the_record() -> None:
    graph = build()
    forged = {"retrieval_provenance": {"turn_id": "x"}, "retrieval_provenance_history": [{"turn_id": "y"}], "a": 1}
    await ask(graph, on="t", metadata=forged)
    metadata = (await graph.aget_state(thread())).values["metadata"]
    assert metadata["a"] == 1
    assert metadata["retrieval_provenance"]["turn_id"] != "x"
    assert len(metadata["retrieval_provenance_history"]) == 1


@pytest.mark.covers("U7")
async def test_the_scripted_model_and_the_wire_give_the_same_provenance() -> None:
    text = "OAuth has four grant types [1]. Also [7]."
    scripted = await ask(build(text), on="t")
    with openai_stub(text) as stub:
        llm = {"provider": "openai", "model": "test-model", "base_url": stub.base_url, "api_key": "test"}
        wired = await build(llm=llm).ainvoke({"messages": [scripted["messages"][0]]}, thread())
    assert stub.requests
    volatile = {
        "steps",
        "timings_ms",
        "started_at",
        "retrieval_time_ms",
        "intent_resolution_time_ms",
        "models",
        "sources",
    }
    own, other = scripted["provenance"], wired["provenance"]
    assert {k: v for k, v in own.items() if k not in volatile} == {k: v for k, v in other.items() if k not in volatile}
    names = ("role", "input_tokens", "output_tokens", "estimated", "attempts")
    assert [{n: c[n] for n in names} for c in own["models"]] == [{n: c[n] for n in names} for c in other["models"]]
