"""Creates the three assistants of a server, or brings them up to date: python create_assistants.py URL [TOKEN].

An assistant is the turn graph with choices of its own. Whoever may publish makes them for everybody.
"""

import asyncio
import sys
from typing import Any

from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

ASSISTANTS: dict[str, dict[str, Any]] = {
    "strict": {
        "description": "Answers from the evidence only and cites every sentence.",
        "context": {
            "style": "conversational",
            "allow_parametric": False,
            "require_citations": True,
            "score_threshold": 0.4,
            "instruction": "Say what the passages say and nothing else. Cite every sentence.",
        },
    },
    "hybrid": {
        "description": "An answer with its sources listed below it.",
        "context": {"style": "hybrid", "allow_parametric": "bridge"},
    },
    "sources_only": {
        "description": "The passages that answer the question, word for word; no model writes.",
        "context": {"style": "structured", "top_k": 8},
    },
}


async def create_assistants(client: LangGraphClient) -> dict[str, str]:
    """The ids of the assistants by name; those that exist are brought up to date and never made twice."""
    found = await client.assistants.search(graph_id="turn", limit=1000)
    ids = {assistant["name"]: assistant for assistant in found}
    return {name: await _create(client, name, wanted, ids.get(name)) for name, wanted in ASSISTANTS.items()}


async def _create(client: LangGraphClient, name: str, wanted: dict[str, Any], existing: Any) -> str:
    if existing is None:
        existing = await client.assistants.create("turn", name=name, metadata={"published": True}, **wanted)
    elif any(existing[key] != value for key, value in wanted.items()):
        existing = await client.assistants.update(existing["assistant_id"], **wanted)
    return str(existing["assistant_id"])


async def main(url: str, token: str | None = None) -> None:
    """Creates the assistants of the server at `url`, as the user of `token`, and prints their ids."""
    headers = {"Authorization": f"Bearer {token}"} if token else None
    async with get_client(url=url, headers=headers) as client:
        for name, identity in (await create_assistants(client)).items():
            print(f"{identity}  {name}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
