"""One turn on a thread, its answer printed while it is written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundgraph.cli.knowledge_base_file import keep_out_of_git
from groundgraph.core.errors import ReviewImpossible

if TYPE_CHECKING:
    from groundgraph.cli.token_printer import TokenPrinter
    from groundgraph.core.settings import Settings


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
