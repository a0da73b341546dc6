"""`groundgraph ask`: one question, one answer."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from groundgraph.cli.options import AsJson, ConfigFile, find_settings, keep_out_of_git, thread_id
from groundgraph.cli.output import DONE, DONE_WITH_FAILURES, UNAVAILABLE, note, on_terminal, say, write_json
from groundgraph.core.errors import ReviewImpossible

if TYPE_CHECKING:
    from groundgraph.cli.show_turn import TokenPrinter
    from groundgraph.settings.settings import Settings


# One turn on a thread, its answer printed while it is written.


def prepare_folders(settings: Settings) -> None:
    """Make the folders of the checkpointer and the store, kept out of version control."""
    for saver in (settings.checkpointer, settings.store):
        if saver.type == "sqlite":
            keep_out_of_git(Path(settings.at(saver.path)))


async def run_turn(graph: Any, question: str, thread_id: str, context: Any, printer: TokenPrinter) -> dict[str, Any]:
    """The output of one turn. Every step is on disk before the next begins, so that a killed process loses nothing."""
    output: dict[str, Any] = {}
    items = graph.astream(
        {"messages": [("user", question)]},
        {"configurable": {"thread_id": thread_id}},
        context=context,
        stream_mode=["messages", "values"],
        durability="sync",
    )
    async for mode, item in items:
        if mode == "messages":
            printer.add(item[0].text)
        else:
            output = item
    if "__interrupt__" in output:
        raise ReviewImpossible(
            f"The answer has little support and waits for a person, whom the command line cannot ask. It is on the "
            f"thread {thread_id}: decide with Command(resume=…) or in Studio, or ask again with "
            "human_review.support_below: null."
        )
    return output


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
    found: Annotated[
        bool, typer.Option("--found", help="Also name what was found besides, one line each with its place.")
    ] = False,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Ask one question and get an answer with its citations.

    Ends with 0 when the question was answered and also when the sources do not cover it, with 1 when the configured
    model failed and the sources are quoted in its place, with 3 when they could not be asked.
    """
    settings = find_settings(config)
    chosen = thread or f"ask-{uuid.uuid4().hex[:12]}"
    turn = asyncio.run(_turn(settings, question, chosen, style, stream=not as_json))
    _show(turn, chosen, settings, as_json=as_json, found=found)
    if thread is None:
        note(f"Thread: {chosen} (go on with --thread {chosen})")
    code = _code(turn.output)
    if code == DONE_WITH_FAILURES:
        note("`groundgraph doctor --try` calls the model once and shows what it said.")
    raise typer.Exit(code)


def _code(output: Mapping[str, Any]) -> int:
    if output["outcome"] == "unavailable":
        return UNAVAILABLE
    calls = [call for call in output["provenance"].get("models", ()) if call["role"] == "answer"]
    return DONE_WITH_FAILURES if calls and all(call.get("error") for call in calls) else DONE


async def _turn(settings: Settings, question: str, thread_id: str, style: StyleName | None, *, stream: bool) -> _Turn:
    from groundgraph.cli.show_turn import TokenPrinter
    from groundgraph.graph.open_graph import open_graph
    from groundgraph.settings.context import Context

    prepare_folders(settings)
    async with open_graph(settings) as graph:
        writes = graph.resources.chat_model is not None and style != "structured"
        printer = TokenPrinter(wanted=stream and writes and on_terminal())
        started = time.perf_counter()
        output = await run_turn(graph, question, thread_id, Context(style=style), printer)
        seconds = time.perf_counter() - started
    return _Turn(output, seconds, printer.finish(output["answer"]))


def _show(turn: _Turn, thread_id: str, settings: Settings, *, as_json: bool, found: bool) -> None:
    from groundgraph.cli.show_turn import found_besides, print_turn, turn_json

    if as_json:
        write_json({**turn_json(turn.output), "thread_id": thread_id})
    else:
        print_turn(turn.output, turn.seconds, settings=settings, answer_shown=turn.streamed)
        if found and (lines := found_besides(turn.output)):
            say("\n".join(["\nFound besides:", *lines]))
