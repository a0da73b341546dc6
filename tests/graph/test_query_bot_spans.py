"""The spans of a query bot (Q3): `retrieval` and `memory_retrieval` in the turn's span, with result counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from bot_stores import AsyncListStore, ListStore
from opentelemetry import trace
from recorded_spans import RecordedSpans, attributes, recorded_spans

from groundgraph import AsyncQueryBot, QueryBot, load_settings
from groundgraph.testing import ScriptedChatModel

QUERY = "When is pump 17 serviced?"
FACTS = ("Pump 17 is serviced every 90 days.", "Pump 18 is new.", "The press is oiled weekly.")


@pytest.fixture
def spans() -> Iterator[RecordedSpans]:
    with recorded_spans() as recorded:
        yield recorded


def made(kind: type = AsyncQueryBot, *, memory: bool = True, **options: Any) -> Any:
    stores = {"docstore": ListStore(*FACTS), "memory": AsyncListStore(*FACTS[:1]) if memory else None}
    return kind("You help.", **stores, chat_model=ScriptedChatModel("Every 90 days [1]."), log=False, **options)


async def called(bot: Any) -> None:
    await bot(QUERY, 2)


async def streamed(bot: Any) -> None:
    assert "".join([piece async for piece in bot.stream_async(QUERY, 2)])


@pytest.mark.parametrize("ask", [called, streamed])
async def test_QRY_RAG_013_both_searches_have_spans_in_that_of_the_turn_with_their_counts_on_both(
    ask: Any, spans: RecordedSpans
) -> None:
    await ask(made())
    outer, retrieval, memory = (spans.one(name) for name in ("turn", "retrieval", "memory_retrieval"))
    asked = {"openinference.span.kind": "RETRIEVER", "n_results": 2}
    assert attributes(retrieval) == {**asked, "documents_found": 2}
    assert attributes(memory) == {**asked, "memory_results": 1}
    assert (attributes(outer)["docstore_results"], attributes(outer)["memory_results"]) == (2, 1)
    assert [spans.path(one)[0] for one in (retrieval, memory)] == ["turn", "turn"]
    assert spans.open == []


async def test_QRY_RAG_013_without_a_memory_there_is_no_span_of_it(spans: RecordedSpans) -> None:
    await made(memory=False)(QUERY)
    assert spans.named("memory_retrieval") == []
    assert attributes(spans.one("turn"))["docstore_results"] == 3
    assert "memory_results" not in attributes(spans.one("turn"))


def test_QRY_RAG_013_the_plain_bot_has_them_too_below_the_span_of_whoever_calls(spans: RecordedSpans) -> None:
    with trace.get_tracer("test").start_as_current_span("request"):
        made(QueryBot)(QUERY)
    assert spans.path(spans.one("memory_retrieval"))[:2] == ["request", "turn"]


@pytest.mark.covers("Q3")
async def test_a_search_that_fails_marks_its_span_and_has_no_count(spans: RecordedSpans) -> None:
    class Broken(ListStore):
        def retrieve(self, query: str, n_results: int) -> list[Any]:
            raise ValueError("secret question text")

    await AsyncQueryBot("You help.", docstore=Broken(), log=False)(QUERY)
    retrieval = spans.one("retrieval")
    assert retrieval.status.description == "ValueError"
    assert "documents_found" not in attributes(retrieval)
    assert not any("secret" in one.to_json() for one in spans.all)


@pytest.mark.covers("Q3")
async def test_no_text_is_in_a_span_unless_it_is_asked_for(spans: RecordedSpans) -> None:
    await made()(QUERY)
    told = "".join(one.to_json() for one in spans.all)
    assert "ump 17" not in told
    await made(settings=load_settings({"tracing": {"enabled": True, "content": True}}))(QUERY)
    assert "ump 17" in "".join(one.to_json() for one in spans.all)


@pytest.mark.covers("Q3")
async def test_tracing_can_be_switched_off(spans: RecordedSpans) -> None:
    await made(settings=load_settings({"tracing": {"enabled": False}}))(QUERY)
    assert spans.all == []
