"""Grounded question answering for LangGraph.

Every turn retrieves, every citation is checked, an outage never looks like ignorance. The names below are loaded when
they are first used, so that `import groundgraph` costs next to nothing.
"""

from __future__ import annotations

import gc
import sys
import threading
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from groundgraph.moved import MovedModules

if TYPE_CHECKING:
    from groundgraph.bot.query_bot import AsyncQueryBot, QueryBot
    from groundgraph.core.errors import GroundGraphError
    from groundgraph.core.evidence import SourceResult
    from groundgraph.core.intent import RetrievalIntent
    from groundgraph.core.schema import SourceSchema
    from groundgraph.graph.cascade_retriever import CascadeRetriever
    from groundgraph.graph.ingest import ingest_graph
    from groundgraph.graph.knowledge_base import KnowledgeBase
    from groundgraph.graph.open_graph import open_graph
    from groundgraph.graph.prune_checkpoints import prune_checkpoints
    from groundgraph.graph.resume import load_provenance, resume_turn
    from groundgraph.graph.retrieval import RetrievedContext, retrieval_graph, retrieval_tool, retrieve_context
    from groundgraph.graph.turn import turn_graph, turn_tool
    from groundgraph.ingest.register_chain import register_chain
    from groundgraph.report.turn_page import turn_page, turn_text
    from groundgraph.settings.context import Context
    from groundgraph.settings.load_settings import load_settings
    from groundgraph.settings.settings import Settings
    from groundgraph.sources.contract import GroundedSource
    from groundgraph.sources.in_memory import InMemorySource
    from groundgraph.sources.langchain_adapter import LangChainSource
    from groundgraph.sources.sql import SqlSource
    from groundgraph.sources.weaviate import WeaviateSource

__version__ = "0.1.0"

sys.meta_path.append(MovedModules)

_HOMES = {
    "AsyncQueryBot": "bot.query_bot",
    "CascadeRetriever": "graph.cascade_retriever",
    "Context": "settings.context",
    "GroundGraphError": "core.errors",
    "GroundedSource": "sources.contract",
    "InMemorySource": "sources.in_memory",
    "LangChainSource": "sources.langchain_adapter",
    "KnowledgeBase": "graph.knowledge_base",
    "QueryBot": "bot.query_bot",
    "RetrievalIntent": "core.intent",
    "RetrievedContext": "graph.retrieval",
    "Settings": "settings.settings",
    "SourceResult": "core.evidence",
    "SourceSchema": "core.schema",
    "SqlSource": "sources.sql",
    "WeaviateSource": "sources.weaviate",
    "ingest_graph": "graph.ingest",
    "load_provenance": "graph.resume",
    "load_settings": "settings.load_settings",
    "open_graph": "graph.open_graph",
    "prune_checkpoints": "graph.prune_checkpoints",
    "register_chain": "ingest.register_chain",
    "resume_turn": "graph.resume",
    "retrieval_graph": "graph.retrieval",
    "retrieval_tool": "graph.retrieval",
    "retrieve_context": "graph.retrieval",
    "turn_graph": "graph.turn",
    "turn_page": "report.turn_page",
    "turn_text": "report.turn_page",
    "turn_tool": "graph.turn",
}

__all__ = [
    "AsyncQueryBot",
    "CascadeRetriever",
    "Context",
    "GroundGraphError",
    "GroundedSource",
    "InMemorySource",
    "KnowledgeBase",
    "LangChainSource",
    "QueryBot",
    "RetrievalIntent",
    "RetrievedContext",
    "Settings",
    "SourceResult",
    "SourceSchema",
    "SqlSource",
    "WeaviateSource",
    "ingest_graph",
    "load_provenance",
    "load_settings",
    "open_graph",
    "prune_checkpoints",
    "register_chain",
    "resume_turn",
    "retrieval_graph",
    "retrieval_tool",
    "retrieve_context",
    "turn_graph",
    "turn_page",
    "turn_text",
    "turn_tool",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'groundgraph' has no attribute '{name}'")
    value = getattr(_loaded(f"groundgraph.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


# Python refuses one of two threads that load a package and a module of it at the same time (`_DeadlockError`).
_loading = threading.RLock()


def _loaded(name: str) -> ModuleType:
    with _loading:
        # Modules are no garbage; looking for some among all objects takes longer than loading half of them.
        collects = gc.isenabled()
        gc.disable()
        try:
            return import_module(name)
        finally:
            if collects:
                gc.enable()


def __dir__() -> list[str]:
    inside = (name for name in globals() if name.startswith("__") or f"{__name__}.{name}" in sys.modules)
    return sorted({*inside, *_HOMES})
