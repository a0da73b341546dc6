"""`groundgraph graph`: a picture of what runs, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from groundgraph.cli.options import AsJson, ConfigFile, find_settings
from groundgraph.cli.output import DONE, say, write_json

if TYPE_CHECKING:
    from groundgraph.settings.settings import Settings

GraphName = Literal["turn", "retrieval", "ingest"]


def graph(
    which: Annotated[
        GraphName, typer.Argument(metavar="turn|retrieval|ingest", help="Which graph.", show_default=True)
    ] = "turn",
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Print a graph of the configuration as Mermaid text. Many Markdown viewers show it as a picture.

    Nothing is opened and no model is needed.
    """
    settings = find_settings(config)
    mermaid = _compiled(settings, which).get_graph().draw_mermaid().strip()
    if as_json:
        write_json({"graph": which, "mermaid": mermaid})
    else:
        say(mermaid)
    raise typer.Exit(DONE)


def _compiled(settings: Settings, which: GraphName) -> Any:
    from groundgraph.testing.models import NgramEmbeddings, ScriptedChatModel

    # Stand for the configured models, whose packages and keys need not be here for a picture.
    chat_model = ScriptedChatModel("") if settings.llm else None
    query_model = ScriptedChatModel("") if settings.query_llm else None
    stages = {"category_router": settings.category_router, "enhanced_retrieval": settings.enhanced_retrieval}
    bare = settings.without_models().model_copy(update=stages)
    embeddings = NgramEmbeddings() if settings.embedding_model else None
    if which == "ingest":
        return _ingest(bare, chat_model, embeddings)
    if which == "retrieval":
        from groundgraph.graph.retrieval import retrieval_graph

        return retrieval_graph(bare, chat_model=chat_model, query_model=query_model)
    from groundgraph.graph.turn import turn_graph

    return turn_graph(bare, chat_model=chat_model, query_model=query_model)


def _ingest(settings: Settings, chat_model: Any, embeddings: Any) -> Any:
    from groundgraph.graph.ingest import ingest_graph
    from groundgraph.graph.knowledge_base_files import knowledge_base_files

    # All knowledge bases of a configuration are filled in the same way.
    source = next(iter(knowledge_base_files(settings)), None)
    return ingest_graph(settings, chat_model=chat_model, embeddings=embeddings, source=source)
