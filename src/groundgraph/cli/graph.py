"""`groundgraph graph`: a picture of what runs, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from groundgraph.cli.exit_codes import DONE
from groundgraph.cli.find_settings import find_settings
from groundgraph.cli.options import AsJson, ConfigFile
from groundgraph.cli.output import say, write_json
from groundgraph.cli.problem_places import problems_placed

if TYPE_CHECKING:
    from groundgraph.core.settings import Settings

GraphName = Literal["turn", "retrieval", "ingest"]


def graph(
    which: Annotated[
        GraphName, typer.Argument(metavar="turn|retrieval|ingest", help="Which graph.", show_default=True)
    ] = "turn",
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Print a graph of the configuration as Mermaid text, which many Markdown viewers show as a picture.

    Nothing is opened and no model is needed.
    """
    if which == "ingest":
        raise typer.BadParameter("ingesting is not a graph in this version; there are: turn, retrieval")
    settings = find_settings(config)
    with problems_placed(settings):
        mermaid = _compiled(settings, which).get_graph().draw_mermaid().strip()
    if as_json:
        write_json({"graph": which, "mermaid": mermaid})
    else:
        say(mermaid)
    raise typer.Exit(DONE)


def _compiled(settings: Settings, which: GraphName) -> Any:
    from groundgraph.testing.scripted_chat_model import ScriptedChatModel

    # Stand for the configured models, whose packages and keys need not be here for a picture.
    chat_model = ScriptedChatModel("") if settings.llm else None
    query_model = ScriptedChatModel("") if settings.query_llm else None
    bare = settings.model_copy(update={"llm": None, "query_llm": None})
    if which == "retrieval":
        from groundgraph.graph.retrieval import retrieval_graph

        return retrieval_graph(bare, chat_model=chat_model, query_model=query_model)
    from groundgraph.graph.turn import turn_graph

    return turn_graph(bare, chat_model=chat_model, query_model=query_model)
