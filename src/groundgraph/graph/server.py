"""The graphs that `langgraph.json` names.

The server brings its own checkpointer and store, and refuses to start on a graph that was compiled with one. The
configuration is the file named by `GROUNDGRAPH_CONFIG`, else the nearest `groundgraph.yaml`, else the defaults.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from groundgraph.core.errors import ConfigurationError
from groundgraph.core.knowledge_store import BaseIdentity
from groundgraph.graph.ingest import ingest_graph
from groundgraph.graph.ingest_runner import IngestRunner
from groundgraph.graph.knowledge_base_files import knowledge_base_files
from groundgraph.graph.retrieval import retrieval_graph
from groundgraph.graph.server_ask import ask_graph
from groundgraph.graph.turn import turn_graph
from groundgraph.settings.load_settings import find_settings_file, load_settings
from groundgraph.settings.settings import Settings
from groundgraph.sources.knowledge_base.store import EmbeddedStore


class NothingToFill(EmbeddedStore):
    """Stands for the knowledge base of a configuration that has none: every ingest into it is refused."""

    async def open(self, identity: BaseIdentity, *, rebuild: bool = False) -> Sequence[str]:  # noqa: ARG002
        """Refuse.

        Raises:
            ConfigurationError: always.
        """
        raise ConfigurationError(
            "The sources of the configuration are no knowledge bases, so there is nothing to fill."
        )


def served_ingest(settings: Settings) -> IngestRunner:
    """The ingest graph of the first knowledge base.

    Whoever may call the server must not thereby read any file of this machine, so all paths lead into
    `knowledge_base.path`, or into the folder of the configuration.
    """
    base = settings.knowledge_base
    folder = settings.at(base.path) if base and base.path else settings.base_dir
    names = list(knowledge_base_files(settings))
    if not names:
        return ingest_graph(settings, knowledge_store=NothingToFill(Path("nothing")), within=folder)
    return ingest_graph(settings, source=names[0], within=folder)


settings = load_settings(os.environ.get("GROUNDGRAPH_CONFIG") or find_settings_file())
turn = turn_graph(settings)
retrieval = retrieval_graph(settings)
ingest = served_ingest(settings)
ask = ask_graph(turn)
