"""Everything that the recordings need of groundgraph: public names, and the one look behind them.

The recordings run on commits before and after modules were moved, so nothing else of the package is imported in this
folder. `sources_of` is what no public name gives; when its way moves, it is taught the new one beside the old.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, cast

from groundgraph import (
    Context,
    GroundedSource,
    InMemorySource,
    KnowledgeBase,
    LangChainSource,
    RetrievalIntent,
    SourceResult,
    SourceSchema,
    ingest_graph,
    load_provenance,
    load_settings,
    retrieval_graph,
    retrieve_context,
    turn_graph,
)
from groundgraph.testing import FaultySource, Reply, Rule, ScriptedChatModel

__all__ = [
    "Context",
    "FaultySource",
    "GroundedSource",
    "InMemorySource",
    "KnowledgeBase",
    "LangChainSource",
    "Reply",
    "RetrievalIntent",
    "Rule",
    "ScriptedChatModel",
    "SourceResult",
    "SourceSchema",
    "close",
    "found_by",
    "ingest_graph",
    "load_provenance",
    "load_settings",
    "retrieval_graph",
    "retrieve_context",
    "sources_of",
    "turn_graph",
]


def sources_of(graph: Any) -> Mapping[str, GroundedSource]:
    """The sources that a graph searches, by name.

    Raises:
        RuntimeError: they are nowhere where they ever were.
    """
    for owner in (getattr(graph, "resources", None), graph):
        sources = getattr(owner, "sources", None)
        if sources:
            return cast("Mapping[str, GroundedSource]", sources)
    raise RuntimeError("golden/project.py does not know where this commit keeps the sources of a graph")


async def close(graph: Any) -> None:
    """Close what the settings of a graph opened."""
    await graph.resources.close()


async def found_by(source: Any, intent: RetrievalIntent, top_k: int, threshold: float) -> list[SourceResult]:
    """What a source finds, whether its `query` is awaited or not."""
    answer: Any = source.query(intent, top_k=top_k, score_threshold=threshold)
    return list(await answer if inspect.isawaitable(answer) else answer)
