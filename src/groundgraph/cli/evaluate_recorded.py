"""`groundgraph evaluate --recorded`: what people said of answers, and what another configuration makes of them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundgraph.cli.conversations import is_missing, open_kept
from groundgraph.cli.output import note, say, write_json
from groundgraph.cli.progress import shown_progress
from groundgraph.core.errors import EvidenceMissing, InputInvalid

if TYPE_CHECKING:
    from groundgraph.evals.recorded import MarkedTurn
    from groundgraph.settings.settings import Settings


def evaluate_recorded(settings: Settings, again: Settings | None, page: Path | None, *, as_json: bool) -> None:
    """Tell what was marked, and compare it with what the configuration `again` makes of the same questions.

    Raises:
        InputInvalid: nothing was marked, or a page is wanted where nothing is compared.
    """
    from groundgraph.evals.recorded import marks_found, recorded_lines

    if page and again is None:
        raise InputInvalid("The page compares two configurations: name the other one with --again FILE.")
    turns = asyncio.run(_marked(settings))
    if not turns:
        raise InputInvalid("Nobody has marked an answer yet: the page of groundgraph serve is where to.")
    found = marks_found(turns)
    if again is not None:
        found["again"] = asyncio.run(_asked_again(again, turns, quiet=as_json))
    if page:
        from groundgraph.report.figures_pages import compared_page

        page.write_text(compared_page(found), "utf-8")
        note(f"The comparison stands in {page}.")
    if as_json:
        write_json(found)
    else:
        say("\n".join(recorded_lines(found)))


async def _asked_again(settings: Settings, turns: list[MarkedTurn], *, quiet: bool) -> dict[str, Any]:
    from groundgraph.evals.recorded import ask_again, compared_turns
    from groundgraph.evals.run_conversations import conversation_settings
    from groundgraph.settings.settings_hash import settings_hash

    asked = conversation_settings(settings, with_models=True)
    with shown_progress("Asking again", of="questions", quiet=quiet) as on_progress:
        answered = await ask_again(asked, turns, on_progress)
    return compared_turns(turns, answered, settings_hash(settings))


async def _marked(settings: Settings) -> list[MarkedTurn]:
    """The marked turns, the oldest first; those whose record is gone are told and left out."""
    from groundgraph.serve.kept_threads import KeptThreads

    if is_missing(settings, settings.checkpointer) or is_missing(settings, settings.store):
        return []
    async with open_kept(settings) as graph:
        assert graph.store is not None
        found = []
        for path in await KeptThreads(graph.store).marked():
            try:
                found.append(await _turn(graph, path))
            except EvidenceMissing as error:
                note(f"Left out: {error}")
        return found


async def _turn(graph: Any, path: list[dict[str, Any]]) -> MarkedTurn:
    """The last turn of `path`, with what was said in those before it."""
    from groundgraph.evals.recorded import Answered, MarkedTurn
    from groundgraph.graph.resume import load_provenance

    records = [await load_provenance(graph, node["graph_thread"], node["record"]) for node in path]
    last, node = records[-1], path[-1]
    before = [said for one in records[:-1] for said in (("user", one["question"]), ("assistant", one["answer"]))]
    return MarkedTurn(
        node["graph_thread"],
        node["record"],
        last["question"],
        tuple(before),
        node["mark"]["mark"],
        node["mark"].get("comment", ""),
        node.get("settings", ""),
        Answered.of(last),
    )
