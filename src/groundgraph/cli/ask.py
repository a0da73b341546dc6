"""`groundgraph ask`: one question, one answer."""

from __future__ import annotations

import asyncio
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from groundgraph.cli.exit_codes import DONE, UNAVAILABLE
from groundgraph.cli.find_settings import find_settings
from groundgraph.cli.options import AsJson, ConfigFile, thread_id
from groundgraph.cli.output import note, on_terminal, write_json
from groundgraph.cli.problem_places import problems_placed
from groundgraph.cli.run_turn import prepare_folders, run_turn

if TYPE_CHECKING:
    from groundgraph.core.settings import Settings

StyleName = Literal["conversational", "structured", "hybrid"]


@dataclass(frozen=True)
class _Turn:
    """`streamed`: whether the whole answer was printed while it was written."""

    output: dict[str, Any]
    seconds: float
    streamed: bool


def ask(
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What to ask.", show_default=False)],
    thread: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="The conversation to continue. Default: a new one, whose id is told.", callback=thread_id
        ),
    ] = None,
    style: Annotated[
        StyleName | None, typer.Option(help="How the answer is written. Default: that of the configuration.")
    ] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Ask one question and get an answer with its citations.

    Ends with 0 when the question was answered and also when the sources do not cover it, with 3 when they could not
    be asked.
    """
    settings = find_settings(config)
    chosen = thread or _new_thread()
    with problems_placed(settings):
        turn = asyncio.run(_turn(settings, question, chosen, style, stream=not as_json))
    _show(turn, chosen, as_json=as_json)
    if thread is None:
        note(f"Thread: {chosen} (go on with --thread {chosen})")
    raise typer.Exit(UNAVAILABLE if turn.output["outcome"] == "unavailable" else DONE)


def _new_thread() -> str:
    return f"ask-{uuid.uuid4().hex[:12]}"


async def _turn(settings: Settings, question: str, thread_id: str, style: StyleName | None, *, stream: bool) -> _Turn:
    from groundgraph.cli.token_printer import TokenPrinter
    from groundgraph.core.context import Context
    from groundgraph.graph.open_graph import open_graph

    prepare_folders(settings)
    async with open_graph(settings) as graph:
        writes = graph.resources.chat_model is not None and style != "structured"
        printer = TokenPrinter(wanted=stream and writes and on_terminal())
        started = time.perf_counter()
        output = await run_turn(graph, question, thread_id, Context(style=style), printer)
        seconds = time.perf_counter() - started
    return _Turn(output, seconds, printer.finish(output["answer"]))


def _show(turn: _Turn, thread_id: str, *, as_json: bool) -> None:
    from groundgraph.cli.show_turn import print_turn, turn_json

    if as_json:
        write_json({**turn_json(turn.output), "thread_id": thread_id})
    else:
        print_turn(turn.output, turn.seconds, answer_shown=turn.streamed)
