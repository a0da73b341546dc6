"""Several turns at once."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.memory import InMemoryStore
from oauth_sources import ask, docs, thread
from virtual_time import in_virtual_time

from groundgraph import InMemorySource, SourceSchema, load_settings, turn_graph
from groundgraph.core.errors import ThreadBusy
from groundgraph.storage import thread_locks
from groundgraph.testing import FaultySource, ScriptedChatModel

SETTINGS = {"intent": {"mode": "static"}, "synthesis": {"style": "structured"}}


def build(saver: object, sources: list | None = None, **settings: object):
    return turn_graph(
        load_settings({**SETTINGS, **settings}),
        sources=sources or [docs()],
        checkpointer=saver,
        store=InMemoryStore(),
    )


async def _eight_turns_lose_nothing(saver: object) -> None:
    graph = build(saver)
    await asyncio.gather(*(graph.ainvoke(ask(f"grant types {n}"), thread()) for n in range(8)))
    values = (await graph.aget_state(thread())).values
    assert len(values["messages"]) == 16
    assert {message.text for message in values["messages"][::2]} == {f"grant types {n}" for n in range(8)}
    assert [message.type for message in values["messages"]] == ["human", "ai"] * 8
    assert len(values["metadata"]["retrieval_provenance_history"]) == 8


@pytest.mark.covers("fault 75")
async def test_eight_turns_at_once_on_one_thread_lose_nothing_in_memory() -> None:
    await _eight_turns_lose_nothing(InMemorySaver())


@pytest.mark.covers("fault 75")
async def test_eight_turns_at_once_on_one_thread_lose_nothing_in_sqlite(tmp_path: Path) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as saver:
        await _eight_turns_lose_nothing(saver)


@pytest.mark.covers("fault 75")
def test_synchronous_and_asynchronous_turns_take_turns_too() -> None:
    graph = build(InMemorySaver())

    async def both() -> None:
        calls = [asyncio.to_thread(graph.invoke, ask(f"sync {n}"), thread()) for n in range(4)]
        await asyncio.gather(*calls, *(graph.ainvoke(ask(f"async {n}"), thread()) for n in range(4)))

    asyncio.run(both())
    assert len(graph.get_state(thread()).values["messages"]) == 16


def test_a_turn_that_waits_too_long_for_its_thread_is_refused_and_writes_nothing() -> None:
    slow = FaultySource(docs(), delay=1.5)
    graph = build(InMemorySaver(), [slow], deadlines={"turn": 0.5, "source": 5})
    quick = build(graph.checkpointer, deadlines={"turn": 0.1})

    async def turns() -> None:
        first = asyncio.create_task(graph.ainvoke(ask("first"), thread()))
        while not slow.calls:
            await asyncio.sleep(0.01)
        with pytest.raises(ThreadBusy, match="'t' was busy"):
            await quick.ainvoke(ask("second"), thread())
        await first
        messages = (await graph.aget_state(thread())).values["messages"]
        assert messages[0].text == "first"
        assert len(messages) == 2
        assert len((await quick.ainvoke(ask("third"), thread()))["messages"]) == 4

    in_virtual_time(turns())


@pytest.mark.covers("fault 75")
def test_a_turn_that_gives_up_just_when_its_thread_is_handed_to_it_lets_the_next_one_in(monkeypatch) -> None:
    saver = InMemorySaver()
    first, second, third = (thread_locks._enter(saver, "t") for _ in range(3))
    # In another thread, between the look of the one that leaves and its handing over.
    second.cancel()
    monkeypatch.setattr(second, "done", lambda: False)
    thread_locks._leave(saver, "t", first)
    assert not third.done()
    thread_locks._leave(saver, "t", second)
    assert third.done()


@pytest.mark.covers("fault 76")
async def test_fifty_threads_at_once_do_not_mix() -> None:
    records = [{"id": str(n), "content": f"grant type secret{n}", "tenant": str(n)} for n in range(50)]
    schema = SourceSchema("docs", {"tenant": {"type": "string"}}, ["tenant"])
    template = 'text_queries: ["{{ message }}"]\nfilters: {docs: {tenant: "{{ metadata.tenant }}"}}\n'
    settings = load_settings(
        {"intent": {"mode": "template", "template": template}, "retrieval": {"score_threshold": 0.0, "top_k": 50}}
    )
    model = ScriptedChatModel(rules=[], default=lambda prompt: prompt.text.split("passage number")[1][:200])
    graph = turn_graph(
        settings,
        sources=[InMemorySource(records, name="docs", schema=schema)],
        chat_model=model,
        checkpointer=InMemorySaver(),
        store=InMemoryStore(),
    )

    async def one(n: int) -> None:
        given = {**ask(f"grant type number {n}"), "metadata": {"tenant": str(n)}}
        result = await graph.ainvoke(given, thread(str(n)))
        assert [row["source_id"] for row in result["provenance"]["results"]] == [str(n)]
        assert f"secret{n}" in result["answer"].split()
        assert result["provenance"]["intent"]["filters"] == {"docs": {"tenant": str(n)}}

    await asyncio.gather(*(one(n) for n in range(50)))
