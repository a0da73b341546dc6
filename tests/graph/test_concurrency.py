"""Several turns at once."""

from __future__ import annotations

import asyncio

import pytest
import turns
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.store.memory import InMemoryStore
from turns import QUOTING, ask, asking, docs, thread
from virtual_time import in_virtual_time

from groundgraph import InMemorySource, SourceSchema
from groundgraph.core.errors import ThreadBusy
from groundgraph.storage import thread_locks
from groundgraph.testing import FaultySource, ScriptedChatModel

pytestmark = pytest.mark.covers("fault 75")


def build(saver: object, sources: list | None = None, **settings: object):
    given = {"sources": sources or [docs()], "checkpointer": saver, "store": InMemoryStore()}
    return turns.build(base=QUOTING, **given, **settings)


async def test_eight_turns_at_once_on_one_thread_lose_nothing(saver: object) -> None:
    graph = build(saver)
    await asyncio.gather(*(ask(graph, f"grant types {n}", "t") for n in range(8)))
    values = (await graph.aget_state(thread())).values
    assert len(values["messages"]) == 16
    assert {message.text for message in values["messages"][::2]} == {f"grant types {n}" for n in range(8)}
    assert [message.type for message in values["messages"]] == ["human", "ai"] * 8
    assert len(values["metadata"]["retrieval_provenance_history"]) == 8


def test_synchronous_and_asynchronous_turns_take_turns_too() -> None:
    graph = build(InMemorySaver())

    async def both() -> None:
        calls = [asyncio.to_thread(graph.invoke, asking(f"sync {n}"), thread()) for n in range(4)]
        await asyncio.gather(*calls, *(ask(graph, f"async {n}", "t") for n in range(4)))

    asyncio.run(both())
    assert len(graph.get_state(thread()).values["messages"]) == 16


def test_a_turn_that_waits_too_long_for_its_thread_is_refused_and_writes_nothing() -> None:
    slow = FaultySource(docs(), delay=1.5)
    graph = build(InMemorySaver(), [slow], deadlines={"turn": 0.5, "source": 5})
    quick = build(graph.checkpointer, deadlines={"turn": 0.1})

    async def three() -> None:
        first = asyncio.create_task(ask(graph, "first", "t"))
        while not slow.calls:
            await asyncio.sleep(0.01)
        with pytest.raises(ThreadBusy, match="'t' was busy"):
            await ask(quick, "second", "t")
        await first
        messages = (await graph.aget_state(thread())).values["messages"]
        assert messages[0].text == "first"
        assert len(messages) == 2
        assert len((await ask(quick, "third", "t"))["messages"]) == 4

    in_virtual_time(three())


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
    graph = turns.build(
        ScriptedChatModel(rules=[], default=lambda prompt: prompt.text.split("passage number")[1][:200]),
        sources=[InMemorySource(records, name="docs", schema=schema)],
        intent={"mode": "template", "template": template},
        retrieval={"score_threshold": 0.0, "top_k": 50},
        memory=True,
    )

    async def one(n: int) -> None:
        result = await ask(graph, f"grant type number {n}", str(n), metadata={"tenant": str(n)})
        assert [row["source_id"] for row in result["provenance"]["results"]] == [str(n)]
        assert f"secret{n}" in result["answer"].split()
        assert result["provenance"]["intent"]["filters"] == {"docs": {"tenant": str(n)}}

    await asyncio.gather(*(one(n) for n in range(50)))
