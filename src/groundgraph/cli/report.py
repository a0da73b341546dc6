"""`groundgraph report`: a turn that was recorded, as text, as JSON, or as one HTML page."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from groundgraph.cli.options import AsJson, ConfigFile, Thread, find_settings, problems_placed
from groundgraph.cli.output import DONE, note, say, write_json

if TYPE_CHECKING:
    from groundgraph.settings.settings import Settings


def report(
    thread: Thread,
    turn: Annotated[
        str | None, typer.Option(metavar="ID", help="The turn. Default: the latest one of the conversation.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE", help="Write the turn as one HTML page into FILE."),
    ] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Show how a turn was answered: question, path, queries, evidence, answer and citations.

    Without -o as text, with --json as the full provenance record. The page is one file of at most 300 kB that loads
    nothing, for screen and paper; what it leaves out of long evidence, it says.
    """
    settings = find_settings(config)
    with problems_placed(settings):
        record = asyncio.run(_record(settings, thread, turn))
    if out:
        size = _write(out, record, settings)
        note(f"The turn {record['turn_id']} stands in {out} ({size / 1000:.0f} kB).")
    if as_json:
        write_json(record)
    elif not out:
        from groundgraph.report.turn_page import turn_text

        say(turn_text(record, settings=settings).rstrip())
    raise typer.Exit(DONE)


async def _record(settings: Settings, thread: str, turn: str | None) -> dict[str, Any]:
    from groundgraph.core.errors import EvidenceMissing, InputInvalid
    from groundgraph.graph.open_graph import open_graph
    from groundgraph.graph.resume import load_provenance

    kept = (settings.checkpointer, settings.store)
    if not all(saver.type != "sqlite" or settings.at(saver.path).is_file() for saver in kept):
        raise InputInvalid(f"There is no conversation '{thread}': nothing was asked with this configuration yet.")
    # No model is needed to show a turn, so none has to be installed.
    async with open_graph(settings.without_models()) as graph:
        try:
            return await load_provenance(graph, thread, turn)
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


def _write(file: Path, record: dict[str, Any], settings: Settings) -> int:
    from groundgraph.report.turn_page import turn_page

    page = turn_page(record, settings=settings).encode()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(page)
    return len(page)
