"""Grounded context first, then a loop with tools: `python context_first.py "What do I order for a leaking pump?"`."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from as_tool import parts_in_stock
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import MessagesState, StateGraph

from groundgraph import Settings, load_settings, retrieval_graph, retrieve_context
from groundgraph.testing import Reply, ScriptedChatModel


class Hybrid(MessagesState):
    provenance: dict[str, Any]


def executions(messages: list[Any]) -> list[dict[str, Any]]:
    results = {message.tool_call_id: message for message in messages if isinstance(message, ToolMessage)}
    calls = [call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls]
    done = [(call, results[call["id"]]) for call in calls if call["id"] in results]
    return [{"tool": c["name"], "args": c["args"], "status": r.status, "result": r.text} for c, r in done]


def hybrid(settings: Settings, model: Any, tools: list[Any], **storage: Any) -> Any:
    retrieval = retrieval_graph(settings)

    async def ground(state: Hybrid) -> dict[str, Any]:
        found = await retrieve_context(retrieval, state["messages"][-1].text)
        evidence = [HumanMessage(found.context, name="evidence")] if found.evidence else []
        return {"messages": evidence, "provenance": found.provenance}

    async def record(state: Hybrid) -> dict[str, Any]:
        asked = max(n for n, one in enumerate(state["messages"]) if one.type == "human" and one.name != "evidence")
        return {"provenance": {**state["provenance"], "tool_executions": executions(state["messages"][asked:])}}

    steps: list[Any] = [("ground", ground), ("agent", create_agent(model, tools)), ("record", record)]
    return StateGraph(Hybrid).add_sequence(steps).set_entry_point("ground").compile(**storage)


# Stands in for a model, as in `as_tool.py`.
SCRIPT: list[str | Reply] = [
    Reply(tool_calls=[{"name": "parts_in_stock", "args": {"part": "seal S9"}}]),
    "A seal S9 [1]; there are three, so nothing needs to be ordered.",
]

if __name__ == "__main__":
    graph = hybrid(
        load_settings(Path(__file__).parent / "groundgraph.yaml"), ScriptedChatModel(SCRIPT), [parts_in_stock]
    )
    result = asyncio.run(graph.ainvoke({"messages": [("user", " ".join(sys.argv[1:]))]}))
    print(result["messages"][-1].text)
    for found in result["provenance"]["results"]:
        print(f"[{found['label']}] {found['source_id']}: {found['text']}")
    print("tools:", result["provenance"]["tool_executions"])
