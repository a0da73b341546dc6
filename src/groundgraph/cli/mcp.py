"""`groundgraph mcp`: the sources for an editor or an assistant on this machine, by the Model Context Protocol."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import TYPE_CHECKING

import typer

from groundgraph.cli.ask import prepare_folders
from groundgraph.cli.options import AsJson, ConfigFile, find_settings
from groundgraph.cli.output import DONE
from groundgraph.core.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from groundgraph.settings.settings import Settings


def mcp(config: ConfigFile = None, as_json: AsJson = False) -> None:  # noqa: ARG001 - the protocol is JSON anyway
    """Let an editor or an assistant ask. It does over standard input and output (Model Context Protocol).

    Its tools are ask, search, open_passage and list_sources, its resources the documents. The same stands at /mcp of
    `groundgraph serve`.
    """
    if find_spec("mcp") is None or find_spec("starlette") is None:
        raise ConfigurationError([Problem("mcp", 'needs: pip install "groundgraph[mcp,page]"')])
    asyncio.run(_serve(find_settings(config)))
    raise typer.Exit(DONE)


async def _serve(settings: Settings) -> None:
    from groundgraph.graph.open_graph import open_graph
    from groundgraph.serve.graph_conversations import GraphConversations
    from groundgraph.serve.mcp_server import GroundedServer

    prepare_folders(settings)
    async with open_graph(settings) as graph:
        await GroundedServer(GraphConversations(graph)).run_stdio_async()
