"""Plays `dialogue.yaml` with the assistant, or asks it what you like: `python run.py "a question" "the next one"`."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import Any

import yaml
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from groundgraph import Settings, TurnOutput, load_settings, turn_graph

HERE = Path(__file__).parent


async def talk(turns: list[dict[str, Any]], settings: Settings, **models: Any) -> list[TurnOutput]:
    """What each of `turns` gives: `say` is the message, `state` the state that the dialogue is in."""
    graph = turn_graph(settings, checkpointer=InMemorySaver(), **models)
    thread: Any = {"configurable": {"thread_id": "dialogue"}}
    given: list[TurnOutput] = []
    for one in turns:
        asked = {"messages": [HumanMessage(one["say"])], "metadata": {"dialogue_state": one.get("state", {})}}
        source = "lotok_ru" if re.search("[а-яё]", one["say"], re.IGNORECASE) else "lotok_en"
        given.append(await graph.ainvoke(asked, thread, context={"sources": [source]}))
    await graph.resources.close()
    return given


if __name__ == "__main__":
    said = [{"say": one} for one in sys.argv[1:]] or yaml.safe_load((HERE / "dialogue.yaml").read_text("utf-8"))
    own = load_settings(HERE / "groundgraph.yaml")
    own = own if "OPENAI_API_KEY" in os.environ else own.without_models()
    for one, turn in zip(said, asyncio.run(talk(said, own)), strict=True):
        print(f"> {one['say']}\n{turn['answer']}\n")
