"""An agent that may ask the manual among other things: `python as_tool.py "Pump 17 leaks. What do I need?"`."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from langchain.agents import create_agent

from groundgraph import load_settings, turn_tool
from groundgraph.testing import Reply, ScriptedChatModel

HERE = Path(__file__).parent
STOCK = {"seal S9": 3, "filter F2": 14}


def parts_in_stock(part: str) -> str:
    """How many of a part there are."""
    return f"{STOCK.get(part, 0)} of {part}"


def agent(model: Any, **storage: Any) -> Any:
    """`turn_tool` gives the model a checked answer; `retrieval_tool` would give it the evidence."""
    manual = turn_tool(load_settings(HERE / "groundgraph.yaml"), name="ask_manual", description="Ask the pump manual.")
    return create_agent(model, [manual, parts_in_stock], **storage)


# Stands in for a model, so that this runs without a key; yours is `init_chat_model("openai:gpt-5-mini")`.
LEAK = Reply(
    tool_calls=[{"name": "ask_manual", "args": {"question": "What does a pump need that leaks at the shaft?"}}]
)
STOCKED = Reply(tool_calls=[{"name": "parts_in_stock", "args": {"part": "seal S9"}}])
SCRIPT: list[str | Reply] = [LEAK, STOCKED, "A new seal S9; there are three of them."]

if __name__ == "__main__":
    result = asyncio.run(agent(ScriptedChatModel(SCRIPT)).ainvoke({"messages": [("user", " ".join(sys.argv[1:]))]}))
    for message in result["messages"][1:]:
        print(f"{message.name or message.type}: {message.text}" if message.text else "")
        for citation in (getattr(message, "artifact", None) or {}).get("citations", []):
            print(f"  cites {citation['source_id']}: {citation['quote']!r}")
