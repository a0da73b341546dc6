"""What belongs to a turn and what to a thread (T2)."""

from __future__ import annotations

from contextvars import ContextVar
from functools import partial
from typing import Any, get_type_hints

import pytest
import turns
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.graph import StateGraph
from langgraph.store.memory import InMemoryStore
from parents import in_a_row
from turns import QUESTION, QUOTING, ask, asking, thread
from typing_extensions import TypedDict

from groundgraph import InMemorySource, turn_graph
from groundgraph.graph.state import TurnOutput, TurnState, lifetimes
from groundgraph.graph.turn_runner import run_lightly

# What a later turn may see of an earlier one; whoever adds a channel must decide, and say so here.
THREAD_SCOPED = {"messages", "metadata"}
TURN_SCOPED = {
    "turn", "intent", "retrievals", "bodies", "ranking", "draft", "check"
}  # fmt: skip
RUN_SCOPED = {"question", "task", "answer", "outcome", "notes", "citations", "choices", "support", "provenance"}


build = partial(turns.build, base=QUOTING)


def test_every_channel_of_the_compiled_graph_has_a_declared_lifetime() -> None:
    kinds = {name: lifetime.kind for name, lifetime in lifetimes().items()}
    assert {name for name, kind in kinds.items() if kind == "thread"} == THREAD_SCOPED
    assert {name for name, kind in kinds.items() if kind == "turn"} == TURN_SCOPED
    assert {name for name, kind in kinds.items() if kind == "run"} == RUN_SCOPED
    own = {name for name in build().channels if not name.startswith(("branch:", "__", "join:"))}
    assert own == set(kinds)


def test_channels_of_all_graphs_are_of_the_same_classes() -> None:
    one, other = ({name: type(channel) for name, channel in build().channels.items()} for _ in range(2))
    assert one == other


def test_outputs_are_the_documented_keys() -> None:
    documented = {"messages", "answer", "outcome", "notes", "citations", "choices", "support", "provenance", "metadata"}
    assert set(TurnOutput.__annotations__) == documented


def declared_updates(graph: Any) -> dict[str, set[str]]:
    """The channels that the type which a step returns has, by step."""
    steps = {name: spec.runnable.afunc for name, spec in graph.builder.nodes.items()}
    return {name: set(get_type_hints(step)["return"].__annotations__) for name, step in steps.items()}


def test_every_channel_of_a_turn_has_a_step_that_writes_it() -> None:
    declared = declared_updates(build())
    written = set().union(*declared.values())
    assert written <= set(lifetimes())
    assert set(lifetimes()) - written == {"question", "task"}, "what a caller and the fan-out give"


async def test_each_channel_is_written_by_steps_whose_type_says_so() -> None:
    graph, written = build(), dict[str, set[str]]()
    declared = declared_updates(graph)
    async for update in graph.astream(asking(), stream_mode="updates"):
        for node, values in update.items():
            for name in values or {}:
                written.setdefault(name, set()).add(node)
    for name, nodes in written.items():
        assert nodes <= {node for node, keys in declared.items() if name in keys}, name


async def test_two_turns_share_only_thread_channels(saver: object) -> None:
    graph = build(checkpointer=saver, store=InMemoryStore())
    await ask(graph, on="t", metadata={"topic": "x"})
    seen: dict[str, object] = {}
    async for update in graph.astream(
        asking("zzz unknown"), thread(), stream_mode="values", interrupt_after=["begin_turn"]
    ):
        seen = update
    assert set(seen["metadata"]) == {"topic", "retrieval_provenance", "retrieval_provenance_history"}
    assert len(seen["messages"]) == 3
    state = (await graph.aget_state(thread())).values
    assert state["turn"]["question"] == "zzz unknown"
    for name in TURN_SCOPED - {"turn"}:
        assert state[name] in ({}, lifetimes()[name].empty), f"{name} leaked from the turn before"


async def test_two_turns_share_nothing_undeclared_as_a_subgraph() -> None:
    class Parent(TurnOutput):
        pass

    parent = in_a_row(Parent, turn=build()).compile(checkpointer=InMemorySaver(), store=InMemoryStore())
    first = await ask(parent, on="t")
    second = await ask(parent, "zzz unknown", "t")
    assert first["outcome"] == "answered"
    assert second["outcome"] == "insufficient"
    assert second["citations"] == []
    assert second["provenance"]["results"] == []
    history = second["metadata"]["retrieval_provenance_history"]
    assert [entry["question"] for entry in history] == [QUESTION, "zzz unknown"]


@pytest.mark.covers("fault 43")
async def test_an_abandoned_turn_leaves_nothing_to_the_next_one() -> None:
    graph = build(memory=True)
    await graph.ainvoke(asking(), thread(), interrupt_after=["process_results"])
    abandoned = (await graph.aget_state(thread())).values
    assert abandoned["ranking"]["refs"]
    result = await ask(graph, "zzz unknown", "t")
    assert result["outcome"] == "insufficient"
    assert result["citations"] == []
    assert set(result["provenance"]["sources"]) == {"docs", "notes"}
    assert result["provenance"]["sources"]["docs"]["queries"] == ["zzz unknown"]


@pytest.mark.parametrize("schema", [TurnState])
def test_the_schemas_can_be_exported(schema: type) -> None:
    graph = build()
    assert {"messages", "question", "metadata"} == set(graph.get_input_jsonschema()["properties"])
    assert "answer" in graph.get_output_jsonschema()["properties"]
    assert graph.get_context_jsonschema()["properties"]["top_k"]["description"]


def test_a_parent_may_use_another_state() -> None:
    class Narrow(TypedDict):
        answer: str

    async def call(state: Narrow) -> Narrow:
        return {"answer": (await build().ainvoke({"question": QUESTION}))["answer"]}

    assert in_a_row(Narrow, call=call).compile()


@pytest.mark.covers("B9", "U3")
def test_a_run_is_offered_the_sources_and_ways_that_there_are():
    sources = [InMemorySource(["x"], name=name) for name in ("manual", "memos")]
    fields = turn_graph(sources=sources).get_context_jsonschema()["properties"]
    assert fields["sources"]["anyOf"][0]["items"] == {"type": "string", "enum": ["manual", "memos"]}
    assert fields["retrieval_path"]["anyOf"][0]["enum"] == ["cascade"]
    staged = {"enhanced_autonomous_retrieval": True, "enhanced_retrieval": {"stages": ["budget", "backfill"]}}
    fields = turn_graph(staged, sources=sources).get_context_jsonschema()["properties"]
    assert fields["retrieval_path"]["anyOf"][0]["enum"] == ["enhanced", "state_facts", "cascade"]


@pytest.mark.covers("B9")
def test_each_step_is_seen_and_what_was_found_with_place_and_beginning():
    record = {"content": "Pump 17 is serviced every 90 days.", "id": "pumps.md#3", "section": "Pumps > Service"}
    graph = turn_graph(sources=[InMemorySource([record], name="manual")])
    question = {"question": "How often is pump 17 serviced?"}
    updates = [update for update in graph.stream(question, stream_mode="updates") if all(update.values())]
    steps = [name for update in updates for name in update]
    assert steps[:4] == ["begin_turn", "resolve_intent", "retrieve_source", "process_results"]
    assert steps[-1] == "record_turn"
    [found] = [update["retrieve_source"]["retrievals"] for update in updates if "retrieve_source" in update]
    [entry] = found.values()
    assert entry["previews"] == ["pumps.md#3 Pumps > Service: Pump 17 is serviced every 90 days."]
    assert len(entry["previews"]) == len(entry["refs"])
    assert len(list(graph.stream(question, stream_mode="values"))) > len(steps) - 1


async def test_what_a_step_sets_for_itself_is_not_set_for_who_runs_the_graph() -> None:
    left: ContextVar[str] = ContextVar("left", default="nothing")

    async def step(state: TurnState) -> dict[str, Any]:
        left.set("something")
        return {"question": get_config()["metadata"]["langgraph_node"]}

    builder = StateGraph(TurnState)
    builder.add_sequence([("one", step), ("two", step)])
    builder.set_entry_point("one")
    compiled = builder.compile()
    run_lightly(compiled)
    assert [update async for update in compiled.astream({}, stream_mode="updates")] == [
        {"one": {"question": "one"}}, {"two": {"question": "two"}}
    ]  # fmt: skip
    assert left.get() == "nothing"
