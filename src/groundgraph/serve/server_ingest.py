"""Documents taken in on a LangGraph Server, by its own graph `ingest` and under its rules."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.schema import StreamMode, StreamPart

from groundgraph.core.errors import ConfigurationError, InputInvalid
from groundgraph.serve.conversations import NotFound, User
from groundgraph.serve.server_conversations import run_failed
from groundgraph.serve.server_errors import told_as_ours
from groundgraph.serve.uploads import Ingest

_GRAPH = "ingest"
_MODES: list[StreamMode] = ["custom", "values"]


def server_ingest(connect: Callable[[User], LangGraphClient]) -> Ingest:
    """See `Ingest`; `connect` gives the client of a user, signed in as they are."""

    async def ingest(user: User, path: str) -> AsyncGenerator[tuple[str, Any]]:
        async with aclosing(_parts(connect(user), path)) as parts:
            async for part in parts:
                if part.event == "error":
                    raise run_failed(part.data)
                if part.event in _MODES:
                    yield part.event, part.data

    return ingest


async def _parts(client: LangGraphClient, path: str) -> AsyncGenerator[StreamPart]:
    """
    Raises:
        ConfigurationError: the server has no graph that takes documents in.
    """
    given: Any = {"paths": [path]}
    try:
        with told_as_ours():
            parts = client.runs.stream(None, _GRAPH, input=given, stream_mode=_MODES, on_disconnect="cancel")
            async with aclosing(parts) as items:  # type: ignore[type-var]
                async for item in items:
                    yield item
    except (NotFound, InputInvalid) as error:
        told = f"The server has no graph '{_GRAPH}', so it takes no documents in: name it in langgraph.json."
        raise ConfigurationError(told) from error
