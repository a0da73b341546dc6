"""`groundgraph forget`: a conversation, removed."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from groundgraph.cli.options import AsJson, ConfigFile, Thread, find_settings, problems_placed
from groundgraph.cli.output import DONE, DONE_WITH_FAILURES, counted, note, say, write_json

if TYPE_CHECKING:
    from groundgraph.graph.forget_thread import Forgotten
    from groundgraph.settings.settings import Settings


def forget(
    thread: Thread,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Remove a conversation: its checkpoints, its messages and the records of how each turn was answered.

    The texts of evidence that no other conversation refers to go too; documents stay. Do it while no other process
    answers. Ends with 1 when there is no such conversation.
    """
    settings = find_settings(config)
    with problems_placed(settings):
        forgotten = asyncio.run(_forget(settings, thread))
    if as_json:
        write_json({"thread_id": thread, **asdict(forgotten)})
    elif forgotten:
        say(
            f"Removed of '{thread}': {counted(forgotten.checkpoints, 'checkpoint')}, "
            f"{counted(forgotten.records, 'provenance record')}, {counted(forgotten.messages, 'older message')}, "
            f"{counted(forgotten.bodies, 'text')} of evidence that nothing else refers to."
        )
    if not forgotten:
        kept = settings.checkpointer
        place = settings.at(kept.path) if kept.type == "sqlite" else f"the {kept.type} checkpointer"
        note(f"There is no conversation '{thread}' in {place}.")
    raise typer.Exit(DONE if forgotten else DONE_WITH_FAILURES)


async def _forget(settings: Settings, thread: str) -> Forgotten:
    from groundgraph.graph.forget_thread import Forgotten, forget_thread
    from groundgraph.graph.open_graph import open_graph

    kept = (settings.checkpointer, settings.store)
    if all(saver.type == "sqlite" and not settings.at(saver.path).is_file() for saver in kept):
        return Forgotten()
    # No model is needed to forget, so none has to be installed.
    async with open_graph(settings.without_models()) as graph:
        return await forget_thread(graph, thread)
