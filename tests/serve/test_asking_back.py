"""Asking back (S10) where a server answers: the page's data, chat clients of OpenAI's protocol, MCP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openai
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from served import filled, serving

from groundgraph import open_graph
from groundgraph.serve.conversations import Asked, User
from groundgraph.serve.graph_conversations import GraphConversations
from groundgraph.serve.openai_api import MODEL
from groundgraph.serve.page_api import turn_json

pytestmark = pytest.mark.covers("S10")

QUESTION = "How long does the warranty of the pump last?"
FILES: dict[str, str | bytes] = {
    "orion.md": "---\nproduct: Orion\n---\n\n# Warranty\n\nThe warranty of the pump lasts two years.\n",
    "vega.md": "---\nproduct: Vega\n---\n\n# Warranty\n\nThe warranty of the pump lasts three years.\n",
    # A word that every document has would tell little.
    **{f"other{n}.md": f"# Valve {n}\n\nValve {n} is cleaned with warm water in month {n}.\n" for n in range(8)},
}


@pytest.fixture
def settings(tmp_path: Path) -> Any:
    asking = {"style": "structured", "listing": False, "ask_back": {"field": "product"}}
    return filled(tmp_path, FILES, synthesis=asking, knowledge_base={"fields": {"product": {}}})


async def test_what_is_served_has_the_choices_and_a_label_chooses(settings: Any):
    async with open_graph(settings) as graph:
        conversations, user = GraphConversations(graph), User()
        thread = (await conversations.start(user, QUESTION)).id

        async def taken(question: str, parent: str) -> dict[str, Any]:
            events = [event async for event in conversations.ask(user, thread, Asked(question, parent))]
            return {**turn_json(events[-1]["record"], settings, "en"), "id": events[-1]["ended"]}

        asked = await taken(QUESTION, "")
        assert (asked["outcome"]["name"], [one["label"] for one in asked["choices"]]) == ("clarify", ["Orion", "Vega"])
        first, second = [await taken(one["label"], asked["id"]) for one in asked["choices"]]
        assert ("two years" in first["html"], "three years" in second["html"]) == (True, True)
        # A branch for each, and what was said stands in the tree.
        turns = await conversations.turns(user, thread)
        assert [turn.question for turn in turns] == [QUESTION, "Orion", "Vega"]


async def test_a_chat_client_gets_the_choices_as_text_and_sends_a_number(settings: Any):
    with serving(settings) as url, openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client:
        said: list[Any] = [{"role": "user", "content": QUESTION}]
        asked = client.chat.completions.create(model=MODEL, messages=said)
        text = asked.choices[0].message.content or ""
        assert "1. Orion" in text
        assert asked.model_extra["groundgraph"]["outcome"] == "clarify"
        said += [{"role": "assistant", "content": text}, {"role": "user", "content": "2"}]
        answered = client.chat.completions.create(model=MODEL, messages=said).choices[0].message.content or ""
        assert ("three years" in answered, "two years" in answered) == (True, False)


async def test_an_agent_gets_the_choices_over_mcp_and_asks_again_on_the_thread(settings: Any):
    with serving(settings) as url:
        async with streamable_http_client(f"{url}/mcp") as (read, write, _), ClientSession(read, write) as session:
            await session.initialize()
            asked = (await session.call_tool("ask", {"question": QUESTION})).structuredContent or {}
            assert (asked["outcome"], asked["choices"]) == ("clarify", ["Orion", "Vega"])
            again = {"question": asked["choices"][0], "thread": asked["thread"]}
            answered = (await session.call_tool("ask", again)).structuredContent or {}
            assert (answered["outcome"], "two years" in answered["answer"]) == ("answered", True)
