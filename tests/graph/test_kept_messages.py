"""Of a long conversation, only what came since is read, and only the messages that somebody looks at are made."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
    merge_message_runs,
    messages_to_dict,
)
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
from langgraph.pregel._messages import _messages_delta_reducer
from langgraph.store.memory import InMemoryStore
from pydantic import TypeAdapter
from turns import QUOTING, ask, build, docs, thread

from groundgraph.graph.state import messages_channel
from groundgraph.storage.checkpoint_serializer import CheckpointSerializer
from groundgraph.storage.sqlite_saver import KeptConversation, KeptConversations, LinearSqliteSaver, keeping_messages

pytestmark = pytest.mark.covers("L9")

SAID = [
    SystemMessage("Be brief.", id="s"),
    HumanMessage("How long?", id="q", additional_kwargs={"groundgraph": {"truncated": 9000}}),
    AIMessage("", id="c", tool_calls=[{"name": "look", "args": {"for": 1}, "id": "1"}]),
    ToolMessage("two hours", id="t", tool_call_id="1"),
    AIMessage("Two hours [1].", id="a", response_metadata={"outcome": "answered"}),
]
SERIALIZER = CheckpointSerializer()


def stored(value: Any) -> Any:
    return keeping_messages(SERIALIZER).loads_typed(SERIALIZER.dumps_typed(value))


def unread(messages: list[Any]) -> list[Any]:
    """`messages` as a graph is given them."""
    kept = KeptConversation("", {}, 0).after("1", [stored(messages)])
    value: list[Any] = kept.history()["seed"].value
    return value


MESSAGES = TypeAdapter(list[AnyMessage])
LOOKS: dict[str, Callable[[list[Any]], Any]] = {
    "text": lambda said: [one.text for one in said],
    "fields": lambda said: [(one.type, one.content, one.additional_kwargs, one.response_metadata) for one in said],
    "slots": lambda said: [(one.model_fields_set, one.model_extra) for one in said],
    "repr": repr,
    "str": lambda said: [str(one) for one in said],
    "pretty": lambda said: [one.pretty_repr() for one in said],
    "dict": lambda said: [dict(one) for one in said],
    "dump": lambda said: [one.model_dump() for one in said],
    "json": lambda said: [one.model_dump_json() for one in said],
    "pydantic": MESSAGES.dump_json,
    "validated": MESSAGES.validate_python,
    "serializer": lambda said: SERIALIZER.loads_typed(SERIALIZER.dumps_typed(said)),
    "langchain": lambda said: [dumpd(one) for one in said],
    "dicts": messages_to_dict,
    "merged": merge_message_runs,
    "pickle": lambda said: pickle.loads(pickle.dumps(said)),
    "copy": lambda said: [copy.copy(one) for one in said],
    "deep copy": copy.deepcopy,
    "model copy": lambda said: [one.model_copy(update={"id": "other"}) for one in said],
    "converted": convert_to_messages,
    "kind": lambda said: [isinstance(one, AIMessage) for one in said],
    "name": lambda said: [(type(one).__module__, type(one).__qualname__) for one in said],
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_message_that_nobody_has_looked_at_is_like_any_other(look: str) -> None:
    assert LOOKS[look](unread(SAID)) == LOOKS[look](SERIALIZER.loads_typed(SERIALIZER.dumps_typed(SAID)))


def test_it_is_equal_to_its_like_from_either_side_and_may_be_changed() -> None:
    assert unread(SAID) == SAID
    assert unread(SAID) == SAID
    assert unread(SAID) == unread(SAID)
    assert unread(SAID)[0] != SAID[1]
    one = unread(SAID)[1]
    one.content = "other"
    assert (one.content, type(one), one.id) == ("other", HumanMessage, "q")
    del one.name
    with pytest.raises(AttributeError, match="no_such"):
        unread(SAID)[0].no_such  # noqa: B018


def test_its_id_is_known_without_making_it() -> None:
    said = unread(SAID)
    assert [one.id for one in said] == [one.id for one in SAID]
    assert all(type(one) is not type(other) for one, other in zip(said, SAID, strict=True))
    said[0].content  # noqa: B018
    assert [type(one) is type(other) for one, other in zip(said, SAID, strict=True)] == [True] + 4 * [False]


WRITES: dict[str, list[Any]] = {
    "added": [[HumanMessage("1", id="n1"), AIMessage("2", id="n2")], HumanMessage("3", id="n3")],
    "replaced": [[HumanMessage("other", id="q"), HumanMessage("1", id="n1")]],
    "removed": [[RemoveMessage(id="q")], [RemoveMessage(id="unknown")], [AIMessage("2", id="n2")]],
    "removed and said again": [[RemoveMessage(id="q")], [HumanMessage("again", id="q")]],
    "twice in one": [[HumanMessage("1", id="n1"), HumanMessage("2", id="n1")]],
    "nothing": [[]],
}


@pytest.mark.parametrize("writes", WRITES.values(), ids=WRITES)
def test_kept_messages_and_the_channel_combine_writes_as_langgraphs_reducer(writes: list[Any]) -> None:
    expected = _messages_delta_reducer([*SAID], writes)
    kept = KeptConversation("", {}, 0).after("1", [stored(SAID)])
    later = kept.after("2", stored(writes))
    assert later.history()["seed"].value == expected
    assert later.size == sum(len(one.data) for one in later.messages.values())
    assert [*kept.messages] == [one.id for one in SAID], "what is kept does not change"
    channel = messages_channel().from_checkpoint(kept.history()["seed"])
    beside = channel.copy()
    for write in writes:
        channel.update([write])
    assert channel.get() == expected
    beside.update([[HumanMessage("beside", id="n1")]])
    assert beside.get() == [*SAID, HumanMessage("beside", id="n1")]


@pytest.mark.parametrize("behind", [[], [HumanMessage("new", id="q"), AIMessage("2", id="n2")]])
def test_all_messages_are_removed_at_once_as_by_add_messages(behind: list[Any]) -> None:
    write = [AIMessage("gone", id="g"), RemoveMessage(id=REMOVE_ALL_MESSAGES), *behind]
    kept = KeptConversation("", {}, 0).after("1", [stored(SAID)])
    later = kept.after("2", [stored(write)])
    assert later.history()["seed"].value == behind == add_messages(SAID, write)  # type: ignore[arg-type]
    assert later.size == sum(len(one.data) for one in later.messages.values())
    channel = messages_channel().from_checkpoint(kept.history()["seed"])
    replayed = channel.copy()
    channel.update([write])
    replayed.replay_writes([("", "messages", write)])
    assert channel.get() == replayed.get() == behind


@pytest.mark.parametrize(
    "write", [[("user", "hi")], [{"role": "user", "content": "hi"}], [HumanMessage("no id")], "hi"]
)
def test_what_is_not_stored_as_a_message_with_an_id_is_not_kept(write: Any) -> None:
    assert KeptConversation("", {}, 0).after("1", [stored(write)]) is None


def test_the_one_read_longest_ago_gives_way() -> None:
    kept = KeptConversation("", {}, 0).after("1", [stored(SAID)])
    held = KeptConversations(most=2 * kept.size)
    for name in ("one", "two", "one", "three"):
        held.put(name, "", kept)
    assert [bool(held.get(name, "")) for name in ("one", "two", "three")] == [True, False, True]
    held.put("four", "", KeptConversation("1", kept.messages, 3 * kept.size))
    assert not any(held.get(name, "") for name in ("one", "two", "three", "four"))


class _Counting(LinearSqliteSaver):
    """Counts the rows that histories are read from; a graph works with a copy of its saver."""

    rows: ClassVar[list[Any]] = []

    async def _rows(self, query: str, *parameters: Any) -> list[Any]:
        found = await super()._rows(query, *parameters)
        self.rows.extend(found)
        return found


async def test_a_turn_reads_as_much_late_in_a_thread_as_early(tmp_path: Path) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as plain:
        graph = build(base=QUOTING, sources=[docs()], checkpointer=_Counting.over(plain), store=InMemoryStore())
        read = []
        for number in range(24):
            _Counting.rows.clear()
            await ask(graph, f"grant types {number}", "t")
            read.append(len(_Counting.rows))
        # Every fourth time, the thread's metadata is written whole.
        assert sum(read[20:24]) == sum(read[4:8]) > 0


@pytest.mark.covers("F21")
async def test_what_a_caller_does_with_the_messages_of_a_turn_is_not_seen_by_the_next(tmp_path: Path) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as plain:
        graph = build(base=QUOTING, sources=[docs()], checkpointer=plain, store=InMemoryStore())
        for _ in range(3):
            output = await ask(graph, "grant types", "t")
            assert {one.content for one in output["messages"] if one.type == "human"} == {"grant types"}
            for one in output["messages"]:
                one.content = "changed"
            output["messages"].clear()
        state = await graph.aget_state(thread())
        assert [one.type for one in state.values["messages"]] == ["human", "ai"] * 3
        assert all(one.content != "changed" for one in state.values["messages"])


async def test_nothing_is_held_of_a_thread_that_was_removed(tmp_path: Path) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "t.sqlite")) as plain:
        graph = build(base=QUOTING, sources=[docs()], checkpointer=plain, store=InMemoryStore())
        for name in ("t", "u"):
            await ask(graph, "grant types", name)
            await ask(graph, "grant types again", name)
        held = graph.checkpointer.conversations
        assert held.get("t", "") is not None
        await graph.checkpointer.adelete_thread("t")
        assert held.get("t", "") is None
        assert held.get("u", "") is not None
