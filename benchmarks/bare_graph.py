"""A graph of LangGraph alone with the steps and Sends of a real turn, and next to nothing in its state."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any

from langchain_core.messages import AnyMessage
from langgraph.graph import END, START, StateGraph, add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send
from typing_extensions import TypedDict

from benchmarks.shape import TurnShape

# What a step does; it is given the state, or its own argument when it is one of several Sends.
Work = Callable[[Any], Awaitable[Any]]


def latest(_: int, new: int) -> int:
    return new


class BareState(TypedDict, total=False):
    value: int
    found: Annotated[int, latest]
    messages: Annotated[list[AnyMessage], add_messages]


def bare_graph(
    shape: TurnShape,
    *,
    work: Mapping[str, Work] | None = None,
    checkpointer: Any = None,
    timeout: float | None = None,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The graph.

    Args:
        shape: the steps.
        work: what a step does beside writing one number, by its name.
        checkpointer: a saver, or None.
        timeout: LangGraph's own limit, in seconds, for each of the Sends.
    """
    builder: StateGraph[Any, Any, Any, Any] = StateGraph(BareState)
    names = [name for name, _ in shape.steps]
    sent = names[shape.fan_out]
    for name in names:
        key, limit = ("found", timeout) if name == sent else ("value", None)
        builder.add_node(name, _node(key, (work or {}).get(name)), timeout=limit)
    builder.add_edge(START, names[0])
    for before, after in zip(names, [*names[1:], END], strict=True):
        if after == sent:
            builder.add_conditional_edges(before, _fan_out(sent, shape.steps[shape.fan_out][1]), [sent])
        else:
            builder.add_edge(before, after)
    return builder.compile(checkpointer=checkpointer)


def _node(key: str, work: Work | None) -> Any:
    async def node(state: Any) -> dict[str, Any]:
        more = await work(state) if work else None
        return {key: 1, **(more or {})}

    return node


def _fan_out(name: str, tasks: int) -> Callable[[Any], Awaitable[list[Send]]]:
    async def fan_out(state: Any) -> list[Send]:
        return [Send(name, {"number": number}) for number in range(tasks)]

    return fan_out
