"""`groundgraph threads`: which conversations are kept, and what was said in one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from groundgraph.cli.conversations import is_missing, open_kept
from groundgraph.cli.options import AsJson, ConfigFile, find_settings
from groundgraph.cli.output import DONE, DONE_WITH_FAILURES, EPILOG, counted, note, say, shortened, write_json

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

    from groundgraph.settings.settings import Settings

T = TypeVar("T")
# Characters of the first question in a list.
_QUESTION = 80

threads_app = typer.Typer(
    name="threads",
    help="List and show the conversations that are kept.",
    invoke_without_command=True,
    rich_markup_mode=None,
    epilog=EPILOG,
)


@threads_app.callback()
def _threads(context: typer.Context, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """List and show the conversations that are kept; without a command they are listed."""
    if context.invoked_subcommand is None:
        list_(config, as_json)


@threads_app.command("list", epilog=EPILOG)
def list_(config: ConfigFile = None, as_json: AsJson = False) -> None:
    """List every conversation, the latest first. Each has its last time, its turns and its first question."""
    from groundgraph.storage.records import recorded_threads

    settings = find_settings(config)
    threads = asyncio.run(_read(settings, recorded_threads)) or {}
    rows = [
        {**_turn(turns[-1]), "question": turns[0]["question"], "thread_id": thread, "turns": len(turns)}
        for thread, turns in threads.items()
    ]
    if as_json:
        names = ("thread_id", "question", "turns", "outcome", "at")
        write_json({"threads": [{name: row[name] for name in names} for row in rows]})
    else:
        for row in rows:
            asked = shortened(row["question"], _QUESTION)
            say("\t".join((row["thread_id"], row["at"], counted(row["turns"], "turn"), asked)))
        note(f"{counted(len(rows), 'conversation')}; go on with one by --thread ID.")
    raise typer.Exit(DONE)


@threads_app.command(epilog=EPILOG)
def show(
    id: Annotated[
        str, typer.Argument(metavar="ID", help="The conversation as `threads list` names it.", show_default=False)
    ],
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Show what was asked and answered in one conversation. Ends with 1 when there is no such conversation.

    `groundgraph report` shows how a turn was answered.
    """
    from groundgraph.storage.records import recorded_turns

    settings = find_settings(config)
    turns = [_turn(record) for record in asyncio.run(_read(settings, lambda store: recorded_turns(store, id))) or ()]
    if as_json:
        write_json({"thread_id": id, "turns": turns})
    else:
        for turn in turns:
            told = f"Outcome: {turn['outcome']} ({turn['at']}, turn {turn['turn_id']})"
            say(f"> {turn['question']}\n\n{turn['answer']}\n\n{told}\n")
    if not turns:
        note(f"There is no conversation '{id}'.")
    raise typer.Exit(DONE if turns else DONE_WITH_FAILURES)


async def _read(settings: Settings, read: Callable[[BaseStore], Coroutine[Any, Any, T]]) -> T | None:
    """What `read` finds in the store of the conversations; None where nothing was ever kept."""
    if is_missing(settings, settings.checkpointer) or is_missing(settings, settings.store):
        return None
    async with open_kept(settings) as graph:
        return await read(graph.store) if graph.store is not None else None


def _turn(record: Mapping[str, Any]) -> dict[str, Any]:
    """A turn as it is listed; `at` is when it began, in UTC."""
    at = datetime.fromtimestamp(float(record.get("started_at") or 0), UTC).isoformat(timespec="seconds")
    return {name: record.get(name, "") for name in ("turn_id", "question", "answer", "outcome")} | {"at": at}
