"""`groundgraph chat`: a conversation that survives a restart."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from groundgraph.cli.ask import prepare_folders
from groundgraph.cli.options import AsJson, ConfigFile, find_settings, thread_id
from groundgraph.cli.output import on_terminal, write_json

if TYPE_CHECKING:
    from groundgraph.cli.chat.conversation import Conversation
    from groundgraph.settings.settings import Settings


def chat(
    thread: Annotated[
        str, typer.Option(metavar="ID", help="The conversation, begun or continued.", callback=thread_id)
    ] = "chat",
    history: Annotated[
        bool,
        typer.Option(
            help="Keep what is typed at a terminal, for the Up key, in groundgraph/ of the user's state folder."
        ),
    ] = True,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Talk with your documents. /help lists what can be typed besides questions, /quit or the end of the input ends.

    Ctrl-C ends an answer that is being written. From a pipe, each line is a question. The conversation is kept. A turn
    that was interrupted, even by `kill -9`, is completed at the next start.
    """
    settings = find_settings(config)
    if sys.stdin.isatty() and on_terminal() and not as_json:
        asyncio.run(_typed(settings, thread, keeps_history=history))
        return
    turns = asyncio.run(_piped(settings, thread, quiet=as_json))
    if as_json:
        write_json({"thread_id": thread, "turns": turns})


@asynccontextmanager
async def _opened(settings: Settings, thread_id: str, *, quiet: bool = False) -> AsyncIterator[Conversation]:
    from groundgraph.cli.chat.conversation import Conversation
    from groundgraph.graph.open_graph import open_graph

    prepare_folders(settings)
    async with open_graph(settings) as graph:
        yield Conversation(graph, thread_id, quiet=quiet)


async def _typed(settings: Settings, thread_id: str, *, keeps_history: bool) -> None:
    from groundgraph.cli.chat.terminal import converse

    async with _opened(settings, thread_id) as conversation:
        await converse(conversation, keeps_history=keeps_history)


async def _piped(settings: Settings, thread_id: str, *, quiet: bool) -> list[dict[str, Any]]:
    """The turns that the lines of the input are, as JSON."""
    from groundgraph.cli.chat.conversation import LEAVE
    from groundgraph.cli.show_turn import turn_json

    async with _opened(settings, thread_id, quiet=quiet) as conversation:
        resumed = await conversation.complete()
        turns = [turn_json(resumed)] if resumed else []
        while (line := await asyncio.to_thread(sys.stdin.readline)) and line.strip() not in LEAVE:
            if line.strip():
                turns.append(turn_json(await conversation.ask(line.rstrip("\n"))))
    return turns
