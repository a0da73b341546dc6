"""`groundgraph prune`: a small file of conversations."""

from __future__ import annotations

import asyncio
import re
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from groundgraph.cli.options import AsJson, ConfigFile, find_settings, problems_placed
from groundgraph.cli.output import DONE, DONE_WITH_FAILURES, counted, note, say, write_json
from groundgraph.core.errors import InputInvalid

if TYPE_CHECKING:
    from groundgraph.graph.prune_checkpoints import Pruned
    from groundgraph.settings.settings import Settings

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
    """Make the files of the conversations small: old steps, old conversations, and evidence that nothing refers to.

    What stays can be read, and goes on. Do it while no other process answers. Needs one of the two options. Ends with 1
    when a conversation cannot be read; it is listed, and the others are pruned.
    """
    age = _age(older_than) if older_than is not None else None
    settings = find_settings(config)
    with problems_placed(settings):
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
    from groundgraph.graph.open_graph import open_graph
    from groundgraph.graph.prune_checkpoints import Pruned, check_limits, prune_checkpoints

    check_limits(keep_turns, age)
    saver = settings.checkpointer
    if saver.type == "sqlite" and not settings.at(saver.path).is_file():
        note(f"There are no conversations in {settings.at(saver.path)}.")
        return Pruned()
    # No model is needed to prune, so none has to be installed.
    async with open_graph(settings.without_models()) as graph:
        return await prune_checkpoints(graph, keep_turns=keep_turns, older_than=age)
