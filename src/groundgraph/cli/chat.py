"""`groundgraph chat`: a conversation that survives a restart."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from groundgraph.cli.ask import prepare_folders, run_turn
from groundgraph.cli.options import AsJson, ConfigFile, find_settings, thread_id
from groundgraph.cli.output import note, on_terminal, write_json

if TYPE_CHECKING:
    from groundgraph.settings.settings import Settings

LEAVE = ("/quit", "/exit")


def chat(
    thread: Annotated[
        str, typer.Option(metavar="ID", help="The conversation, begun or continued.", callback=thread_id)
    ] = "chat",
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Talk with your documents, one line a question; an empty line is passed over, /quit or the end of the input ends.

    The conversation is kept. A turn that was interrupted, even by `kill -9`, is completed at the next start.
    """
    settings = find_settings(config)
    turns = asyncio.run(_converse(settings, thread, as_json=as_json))
    if as_json:
        write_json({"thread_id": thread, "turns": turns})


async def _converse(settings: Settings, thread_id: str, *, as_json: bool) -> list[dict[str, Any]]:
    from groundgraph.cli.show_turn import turn_json
    from groundgraph.graph.open_graph import open_graph

    prepare_folders(settings)
    async with open_graph(settings) as graph:
        resumed = await _completed(graph, thread_id, as_json=as_json)
        turns = [turn_json(resumed)] if resumed else []
        while (question := await _next_line(as_json=as_json)) is not None:
            if question.strip():
                turns.append(turn_json(await _one_turn(graph, question, thread_id, as_json=as_json)))
    return turns


async def _completed(graph: Any, thread_id: str, *, as_json: bool) -> dict[str, Any] | None:
    """The output of a turn that an earlier process left unfinished; None when there is none, or only a person can go on
    with it."""
    from groundgraph.graph.resume import resume_turn

    snapshot = await graph.aget_state({"configurable": {"thread_id": thread_id}})
    if not snapshot.tasks:
        return None
    if snapshot.interrupts:
        note("The last answer waits for a person, whom the command line cannot ask. A new question leaves it behind.")
        return None
    note("The last turn was interrupted. Going on with it.")
    started = time.perf_counter()
    output: dict[str, Any] = {**await resume_turn(graph, thread_id)}
    _show(output, time.perf_counter() - started, answer_shown=False, as_json=as_json)
    return output


async def _one_turn(graph: Any, question: str, thread_id: str, *, as_json: bool) -> dict[str, Any]:
    from groundgraph.cli.show_turn import TokenPrinter

    writes = graph.resources.chat_model is not None
    printer = TokenPrinter(wanted=writes and not as_json and on_terminal())
    started = time.perf_counter()
    output = await run_turn(graph, question, thread_id, None, printer)
    _show(output, time.perf_counter() - started, answer_shown=printer.finish(output["answer"]), as_json=as_json)
    return output


def _show(output: dict[str, Any], seconds: float, *, answer_shown: bool, as_json: bool) -> None:
    from groundgraph.cli.show_turn import print_turn

    if not as_json:
        print_turn(output, seconds, answer_shown=answer_shown)


async def _next_line(*, as_json: bool) -> str | None:
    """The next question; None when the user leaves."""
    if sys.stdin.isatty() and not as_json:
        sys.stderr.write("> ")
        sys.stderr.flush()
    line = await asyncio.to_thread(sys.stdin.readline)
    return None if not line or line.strip() in LEAVE else line.rstrip("\n")
