"""Kills a parent graph after each checkpoint of its run, those of a turn inside it among them, and goes on in another
process; prints what was found as JSON.

Started by the tests of embedding: `python embedded_killed.py FOLDER`. The children are forked, so that LangGraph is
imported once.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import AsyncExitStack
from operator import or_
from pathlib import Path
from typing import Annotated, Any

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

from killed_turn import LoggedModel, LoggedSource, die, in_child, lines, log, question
from langchain_core.messages import AIMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.sqlite.aio import AsyncSqliteStore
from turns import docs, notes, thread

from groundgraph import load_settings, turn_graph


class Desk(MessagesState):
    """The parent's state."""

    metadata: Annotated[dict[str, Any], or_]
    outcome: str
    citations: list[dict[str, Any]]


class MortalSaver(AsyncSqliteSaver):
    """Counts checkpoints, and kills its process right after one of them."""

    folder: Any = None
    last = 0

    async def aput(self, config: Any, *args: Any, **kwargs: Any) -> Any:
        """As the saver's."""
        put = await super().aput(config, *args, **kwargs)
        log(self.folder, "spaces", config["configurable"].get("checkpoint_ns", "").split(":")[0])
        # Counted by the file: LangGraph gives the parent and the turn each a copy of the saver.
        if len(lines(self.folder, "spaces")) == self.last:
            die()
        return put


def parent(folder: Path, **options: Any) -> Any:
    """A graph with a step before and a step behind the turn, each of which notes that it ran."""
    model = LoggedModel("Four types [1], clients [2].", folder=folder)
    sources = [LoggedSource(docs(), folder), LoggedSource(notes(), folder)]

    async def prepare(_state: Desk) -> dict[str, Any]:
        log(folder, "steps", "prepare")
        return {"metadata": {"topic": "oauth"}}

    async def close(_state: Desk) -> dict[str, Any]:
        log(folder, "steps", "close")
        return {"messages": [AIMessage("Anything else?", id="closing")]}

    builder = StateGraph(Desk)
    builder.add_node("prepare", prepare)
    builder.add_node(
        "turn", turn_graph(load_settings({"intent": {"mode": "static"}}), sources=sources, chat_model=model)
    )
    builder.add_node("close", close)
    builder.add_edge(START, "prepare")
    builder.add_edge("prepare", "turn")
    builder.add_edge("turn", "close")
    return builder.compile(**options)


async def run(folder: Path, given: Any, last: int = 0) -> dict[str, Any]:
    """A run of the parent over the files in `folder`, killed after its checkpoint number `last`."""
    async with AsyncExitStack() as stack:
        saver = await stack.enter_async_context(MortalSaver.from_conn_string(str(folder / "threads.sqlite")))
        store = await stack.enter_async_context(AsyncSqliteStore.from_conn_string(str(folder / "store.sqlite")))
        await store.setup()
        saver.folder, saver.last = folder, last
        graph = parent(folder, checkpointer=saver, store=store)
        result = await graph.ainvoke(given, thread(), durability="sync")
        records = await store.asearch(("groundgraph", "provenance"), limit=100)
        return {
            "messages": [[message.type, message.text] for message in result["messages"]],
            "outcome": result.get("outcome"),
            "citations": result.get("citations"),
            "history": len(result["metadata"]["retrieval_provenance_history"]),
            "records": len(records),
        }


def found(folder: Path, result: Any) -> dict[str, Any]:
    """What the run gave, and what ran for it."""
    return {"result": result, **{name: lines(folder, name) for name in ("steps", "queries", "prompts", "spaces")}}


def main(root: Path) -> dict[str, Any]:
    """The uninterrupted run, and one that is killed after each of its checkpoints."""
    whole = root / "whole"
    whole.mkdir()
    _, result = in_child(lambda: run(whole, question()))
    told: dict[str, Any] = {"whole": found(whole, result), "killed": []}
    for last in range(1, len(told["whole"]["spaces"]) + 1):
        folder = root / str(last)
        folder.mkdir()
        signal, _ = in_child(lambda at=folder, number=last: run(at, question(), number))
        before = lines(folder, "spaces")
        _, result = in_child(lambda at=folder: run(at, None))
        told["killed"].append({"signal": signal, "space": before[-1], **found(folder, result)})
    return told


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
