"""Grounded question answering for LangGraph.

Every turn retrieves, every citation is checked, an outage never looks like ignorance. The names below are loaded when
they are first used, so that `import groundgraph` costs next to nothing.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from groundgraph.core.lazy_names import lazy_names
from groundgraph.moved import MovedModules

if TYPE_CHECKING:
    from groundgraph.bot.query_bot import AsyncQueryBot as AsyncQueryBot, QueryBot as QueryBot
    from groundgraph.core.errors import GroundGraphError as GroundGraphError
    from groundgraph.core.evidence import SourceResult as SourceResult
    from groundgraph.core.intent import RetrievalIntent as RetrievalIntent
    from groundgraph.core.schema import SourceSchema as SourceSchema
    from groundgraph.graph.cascade_retriever import CascadeRetriever as CascadeRetriever
    from groundgraph.graph.ingest import ingest_graph as ingest_graph
    from groundgraph.graph.knowledge_base import KnowledgeBase as KnowledgeBase
    from groundgraph.graph.open_graph import open_graph as open_graph
    from groundgraph.graph.prune_checkpoints import prune_checkpoints as prune_checkpoints
    from groundgraph.graph.resume import load_provenance as load_provenance, resume_turn as resume_turn
    from groundgraph.graph.retrieval import (
        RetrievedContext as RetrievedContext,
        retrieval_graph as retrieval_graph,
        retrieval_tool as retrieval_tool,
        retrieve_context as retrieve_context,
    )
    from groundgraph.graph.turn import turn_graph as turn_graph, turn_tool as turn_tool
    from groundgraph.ingest.register_chain import register_chain as register_chain
    from groundgraph.report.turn_page import turn_page as turn_page, turn_text as turn_text
    from groundgraph.settings.context import Context as Context
    from groundgraph.settings.load_settings import load_settings as load_settings
    from groundgraph.settings.settings import Settings as Settings
    from groundgraph.sources.contract import GroundedSource as GroundedSource
    from groundgraph.sources.in_memory import InMemorySource as InMemorySource
    from groundgraph.sources.langchain_adapter import LangChainSource as LangChainSource
    from groundgraph.sources.sql import SqlSource as SqlSource
    from groundgraph.sources.weaviate import WeaviateSource as WeaviateSource

__version__ = "0.1.0"

sys.meta_path.append(MovedModules)

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "bot.query_bot": ["AsyncQueryBot", "QueryBot"],
        "core.errors": ["GroundGraphError"],
        "core.evidence": ["SourceResult"],
        "core.intent": ["RetrievalIntent"],
        "core.schema": ["SourceSchema"],
        "graph.cascade_retriever": ["CascadeRetriever"],
        "graph.ingest": ["ingest_graph"],
        "graph.knowledge_base": ["KnowledgeBase"],
        "graph.open_graph": ["open_graph"],
        "graph.prune_checkpoints": ["prune_checkpoints"],
        "graph.resume": ["load_provenance", "resume_turn"],
        "graph.retrieval": ["RetrievedContext", "retrieval_graph", "retrieval_tool", "retrieve_context"],
        "graph.turn": ["turn_graph", "turn_tool"],
        "ingest.register_chain": ["register_chain"],
        "report.turn_page": ["turn_page", "turn_text"],
        "settings.context": ["Context"],
        "settings.load_settings": ["load_settings"],
        "settings.settings": ["Settings"],
        "sources.contract": ["GroundedSource"],
        "sources.in_memory": ["InMemorySource"],
        "sources.langchain_adapter": ["LangChainSource"],
        "sources.sql": ["SqlSource"],
        "sources.weaviate": ["WeaviateSource"],
    },
)
