"""Conversations that were kept: `groundgraph forget`, `prune`, `report` and `threads`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

import typer

from groundgraph.cli.options import AsJson, ConfigFile, Thread, find_settings
from groundgraph.cli.output import (
    DONE,
    DONE_WITH_FAILURES,
    EPILOG,
    counted,
    goes_to_output,
    note,
    say,
    shortened,
    write_json,
    write_out,
)
from groundgraph.core.errors import EvidenceMissing, InputInvalid

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

    from groundgraph.graph.forget_thread import Forgotten
    from groundgraph.graph.prune_checkpoints import Pruned
    from groundgraph.graph.turn_runner import TurnRunner
    from groundgraph.settings.services import SaverSettings
    from groundgraph.settings.settings import Settings


def forget(
    thread: Thread,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Remove a conversation. Its checkpoints, its messages and the records of how each turn was answered go.

    The texts of evidence that no other conversation refers to go too; documents stay. Do it while no other process
    answers. Ends with 1 when there is no such conversation.
    """
    settings = find_settings(config)
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

    if is_missing(settings, settings.checkpointer) and is_missing(settings, settings.store):
        return Forgotten()
    async with open_kept(settings) as graph:
        return await forget_thread(graph, thread)


def is_missing(settings: Settings, saver: SaverSettings) -> bool:
    """Whether nothing was ever kept there."""
    return saver.type == "sqlite" and not settings.at(saver.path).is_file()


def open_kept(settings: Settings, *, reads: bool = False) -> AbstractAsyncContextManager[TurnRunner]:
    """What keeps the conversations; nothing here needs a model, so none has to be installed. What only `reads` them
    gets by without the right to write."""
    from groundgraph.graph.open_graph import open_for_reading, open_graph

    return (open_for_reading if reads else open_graph)(settings.without_models())


# `groundgraph prune`: a small file of conversations.

_AGE = re.compile(r"(\d+)\s*([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


def prune(
    keep_turns: Annotated[
        int | None,
        typer.Option(
            "--keep-turns",
            metavar="N",
            help="Keep the steps and records of the last N turns of each conversation; its messages all stay.",
        ),
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than", metavar="AGE", help="Forget conversations without a turn for so long: 12h, 30d, 8w."
        ),
    ] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Make the files of the conversations small. Old steps, old conversations, and evidence that nothing refers to go.

    What stays can be read, and goes on. Do it while no other process answers. Needs one of the two options. Ends with 1
    when a conversation cannot be read; it is listed, and the others are pruned.
    """
    age = _age(older_than) if older_than is not None else None
    settings = find_settings(config)
    pruned = asyncio.run(_prune(settings, keep_turns, age))
    if as_json:
        write_json(asdict(pruned))
    else:
        say(
            f"Looked at {counted(pruned.threads, 'conversation')} and forgot {pruned.forgotten}. Removed: "
            f"{counted(pruned.checkpoints, 'checkpoint')}, {counted(pruned.records, 'provenance record')}, "
            f"{counted(pruned.bodies, 'text')} of evidence that nothing else refers to."
        )
        for told in pruned.damaged.values():
            say(told)
        if pruned.damaged:
            say("Until then all texts of evidence stay: it may be such a conversation that refers to them.")
    raise typer.Exit(DONE_WITH_FAILURES if pruned.damaged else DONE)


def _age(text: str) -> timedelta:
    found = _AGE.fullmatch(text.strip())
    if found is None:
        raise InputInvalid(f"'{text}' is no age: write a number of hours, days or weeks, for example 12h, 30d or 8w.")
    try:
        return timedelta(**{_UNITS[found[2]]: int(found[1])})
    except OverflowError:
        raise InputInvalid(f"'{text}' is longer than anything was kept.") from None


async def _prune(settings: Settings, keep_turns: int | None, age: timedelta | None) -> Pruned:
    from groundgraph.graph.prune_checkpoints import Pruned, check_limits, prune_checkpoints

    check_limits(keep_turns, age)
    if is_missing(settings, settings.checkpointer):
        note(f"There are no conversations in {settings.at(settings.checkpointer.path)}.")
        return Pruned()
    async with open_kept(settings) as graph:
        return await prune_checkpoints(graph, keep_turns=keep_turns, older_than=age)


# `groundgraph report`: a turn that was recorded, as text, as JSON, or as one HTML page.


def report(
    thread: Thread,
    turn: Annotated[
        str | None, typer.Option(metavar="ID", help="The turn. Default: the latest one of the conversation.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="FILE", help="Write the turn as one HTML page into FILE; - is standard output."
        ),
    ] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Show how a turn was answered. There are question, path, queries, evidence, answer and citations.

    Without -o as text, with --json as the full provenance record. The page is one file of at most 300 kB that loads
    nothing, for screen and paper; what it leaves out of long evidence, it says.
    """
    if out and out.is_dir():
        raise typer.BadParameter(f"'{out}' is a folder; name a file in it", param_hint="--out")
    goes_to_output(out, as_json=as_json)
    settings = find_settings(config)
    record = asyncio.run(_record(settings, thread, turn))
    if out:
        write_page(out, record, settings)
    if as_json:
        write_json(record)
    elif not out:
        from groundgraph.report.turn_page import turn_text

        say(turn_text(record, settings=settings).rstrip())
    raise typer.Exit(DONE)


async def _record(settings: Settings, thread: str, turn: str | None) -> dict[str, Any]:
    from groundgraph.graph.resume import load_provenance

    if is_missing(settings, settings.checkpointer) or is_missing(settings, settings.store):
        raise InputInvalid(f"There is no conversation '{thread}': nothing was asked with this configuration yet.")
    async with open_kept(settings, reads=True) as graph:
        try:
            record = {**await load_provenance(graph, thread, turn)}
            if turn is None and (waits := await _waits(graph, thread)):
                note(f"This is the turn before. {waits}")
            return record
        except EvidenceMissing as error:
            raise InputInvalid(f"{error}{await _what_there_is(graph.store, thread)}") from error


async def _what_there_is(store: Any, thread: str) -> str:
    """What else could have been meant: the latest turns of the conversation, or the latest conversations."""
    from groundgraph.storage.records import latest_threads, latest_turns

    if turns := await latest_turns(store, thread):
        return f" Its latest turns, for --turn: {_listed(turns)}."
    if threads := await latest_threads(store):
        return f" Latest threads: {_listed(threads)}."
    return " No thread has one: ask something first, for example with groundgraph ask QUESTION --thread ID."


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names))


def write_page(file: Path, record: dict[str, Any], settings: Settings) -> None:
    """Write a recorded turn into `file` as one HTML page, and tell so."""
    from groundgraph.report.turn_page import turn_page

    page = turn_page(record, settings=settings)
    write_out(file, page)
    if str(file) != "-":
        note(f"The turn {record['turn_id']} stands in {file} ({len(page.encode()) / 1000:.0f} kB).")


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
    """List every conversation, the latest first. Each has its last time, its turns and its first question; of one
    whose answer waits for a person that is told."""
    rows = asyncio.run(_read(find_settings(config), _rows)) or []
    if as_json:
        names = ("thread_id", "question", "turns", "outcome", "at", "waits")
        write_json({"threads": [{name: row[name] for name in names} for row in rows]})
    else:
        for row in rows:
            asked = shortened(row["question"], _QUESTION)
            told = [counted(row["turns"], "turn"), *(["waits for a person"] if row["waits"] else [])]
            say("\t".join((row["thread_id"], row["at"], ", ".join(told), asked)))
        note(f"{counted(len(rows), 'conversation')}; go on with one by --thread ID.")
        if any(row["waits"] for row in rows):
            from groundgraph.graph.stopped_turns import HOW_TO_DECIDE

            note(f"Where an answer waits for a person, {HOW_TO_DECIDE}.")
    raise typer.Exit(DONE)


async def _rows(graph: TurnRunner) -> list[dict[str, Any]]:
    """What is listed of each conversation, the latest first; `turns` are those that were answered."""
    from groundgraph.graph.stopped_turns import threads_that_wait
    from groundgraph.storage.records import recorded_threads

    rows = {
        thread: {**_turn(turns[-1]), "question": turns[0]["question"], "turns": len(turns), "waits": False}
        for thread, turns in (await recorded_threads(cast("BaseStore", graph.store))).items()
    }
    for thread, (asked, began) in (await threads_that_wait(graph)).items():
        # The turn that waits has no record, and no outcome, yet.
        own = {"outcome": "", "at": _moment(began), "waits": True}
        rows[thread] = {"question": asked["question"], "turns": 0} | rows.get(thread, {}) | own
    listed = [{**row, "thread_id": thread} for thread, row in rows.items()]
    return sorted(listed, key=lambda row: str(row["at"]), reverse=True)


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
    turns, waits = asyncio.run(_read(find_settings(config), lambda graph: _turns(graph, id))) or ([], "")
    if as_json:
        write_json({"thread_id": id, "turns": turns})
    else:
        for turn in turns:
            told = f"Outcome: {turn['outcome']} ({turn['at']}, turn {turn['turn_id']})"
            say(f"> {turn['question']}\n\n{turn['answer']}\n\n{told}\n")
    if waits:
        note(waits)
    elif not turns:
        note(f"There is no conversation '{id}'.")
    raise typer.Exit(DONE if turns or waits else DONE_WITH_FAILURES)


async def _turns(graph: TurnRunner, thread: str) -> tuple[list[dict[str, Any]], str]:
    """The turns of a conversation that were answered, and what is told where its latest answer waits."""
    from groundgraph.storage.records import recorded_turns

    return [_turn(record) for record in await recorded_turns(cast("BaseStore", graph.store), thread)], await _waits(
        graph, thread
    )


async def _waits(graph: TurnRunner, thread: str) -> str:
    from groundgraph.graph.stopped_turns import HOW_TO_DECIDE, asked_of_a_person

    waits = await asked_of_a_person(graph, thread)
    return f"The answer to '{waits[0]['question']}' waits for a person: {HOW_TO_DECIDE}." if waits else ""


async def _read(settings: Settings, read: Callable[[TurnRunner], Coroutine[Any, Any, T]]) -> T | None:
    """What `read` finds of the conversations; None where nothing was ever kept."""
    if is_missing(settings, settings.checkpointer) or is_missing(settings, settings.store):
        return None
    async with open_kept(settings, reads=True) as graph:
        return await read(graph)


def _turn(record: Mapping[str, Any]) -> dict[str, Any]:
    """A turn as it is listed; `at` is when it began, in UTC."""
    told = {name: record.get(name, "") for name in ("turn_id", "question", "answer", "outcome")}
    return told | {"at": _moment(float(record.get("started_at") or 0))}


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
