"""Grounded question answering for LangGraph.

Every turn retrieves, every citation is checked, an outage never looks like ignorance. The names below are loaded when
they are first used, so that `import groundgraph` costs next to nothing.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from groundgraph.core.lazy_names import MovedModules, lazy_names

if TYPE_CHECKING:
    from groundgraph.bot.query_bot import AsyncQueryBot as AsyncQueryBot, QueryBot as QueryBot
    from groundgraph.core.errors import (
        ConfigurationError as ConfigurationError,
        EvidenceMissing as EvidenceMissing,
        GroundGraphError as GroundGraphError,
        IngestError as IngestError,
        InputInvalid as InputInvalid,
        ModelError as ModelError,
        NothingToResume as NothingToResume,
        RecordInvalid as RecordInvalid,
        ReviewImpossible as ReviewImpossible,
        ScopeMissing as ScopeMissing,
        SourceError as SourceError,
        StorageDamaged as StorageDamaged,
        StorageLocked as StorageLocked,
        StorageUnavailable as StorageUnavailable,
        ThreadBusy as ThreadBusy,
        ThreadConflict as ThreadConflict,
    )
    from groundgraph.core.evidence import SourceResult as SourceResult
    from groundgraph.core.intent import RetrievalIntent as RetrievalIntent
    from groundgraph.core.schema import SourceSchema as SourceSchema
    from groundgraph.core.turn_record import (
        Evidence as Evidence,
        TurnEvent as TurnEvent,
        TurnRecord as TurnRecord,
    )
    from groundgraph.core.turn_values import (
        Citation as Citation,
        Flag as Flag,
        Location as Location,
        Support as Support,
    )
    from groundgraph.graph.cascade_retriever import CascadeRetriever as CascadeRetriever
    from groundgraph.graph.ingest import ingest_graph as ingest_graph
    from groundgraph.graph.knowledge_base import KnowledgeBase as KnowledgeBase
    from groundgraph.graph.open_graph import open_graph as open_graph
    from groundgraph.graph.prune_checkpoints import prune_checkpoints as prune_checkpoints
    from groundgraph.graph.resume import (
        load_provenance as load_provenance,
        load_provenance_sync as load_provenance_sync,
        resume_turn as resume_turn,
        resume_turn_sync as resume_turn_sync,
    )
    from groundgraph.graph.retrieval import (
        RetrievalOutput as RetrievalOutput,
        RetrievedContext as RetrievedContext,
        retrieval_graph as retrieval_graph,
        retrieval_tool as retrieval_tool,
        retrieve_context as retrieve_context,
        retrieve_context_sync as retrieve_context_sync,
    )
    from groundgraph.graph.state import TurnOutput as TurnOutput
    from groundgraph.graph.turn import turn_graph as turn_graph, turn_tool as turn_tool
    from groundgraph.graph.typed_runs import Question as Question, TurnGraph as TurnGraph
    from groundgraph.ingest.register_chain import register_chain as register_chain
    from groundgraph.report.turn_page import TurnDisplay as TurnDisplay
    from groundgraph.report.turn_page import turn_page as turn_page, turn_text as turn_text
    from groundgraph.settings.context import (
        Context as Context,
        DialogueState as DialogueState,
        StateFact as StateFact,
    )
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
        "core.errors": [
            "ConfigurationError",
            "EvidenceMissing",
            "GroundGraphError",
            "IngestError",
            "InputInvalid",
            "ModelError",
            "NothingToResume",
            "RecordInvalid",
            "ReviewImpossible",
            "ScopeMissing",
            "SourceError",
            "StorageDamaged",
            "StorageLocked",
            "StorageUnavailable",
            "ThreadBusy",
            "ThreadConflict",
        ],
        "core.evidence": ["SourceResult"],
        "core.intent": ["RetrievalIntent"],
        "core.schema": ["SourceSchema"],
        "core.turn_record": ["Evidence", "TurnEvent", "TurnRecord"],
        "core.turn_values": ["Citation", "Flag", "Location", "Support"],
        "graph.cascade_retriever": ["CascadeRetriever"],
        "graph.ingest": ["ingest_graph"],
        "graph.knowledge_base": ["KnowledgeBase"],
        "graph.open_graph": ["open_graph"],
        "graph.prune_checkpoints": ["prune_checkpoints"],
        "graph.resume": ["load_provenance", "load_provenance_sync", "resume_turn", "resume_turn_sync"],
        "graph.retrieval": [
            "RetrievalOutput",
            "RetrievedContext",
            "retrieval_graph",
            "retrieval_tool",
            "retrieve_context",
            "retrieve_context_sync",
        ],
        "graph.state": ["TurnOutput"],
        "graph.turn": ["turn_graph", "turn_tool"],
        "graph.typed_runs": ["Question", "TurnGraph"],
        "ingest.register_chain": ["register_chain"],
        "report.turn_page": ["TurnDisplay", "turn_page", "turn_text"],
        "settings.context": ["Context", "DialogueState", "StateFact"],
        "settings.load_settings": ["load_settings"],
        "settings.settings": ["Settings"],
        "sources.contract": ["GroundedSource"],
        "sources.in_memory": ["InMemorySource"],
        "sources.langchain_adapter": ["LangChainSource"],
        "sources.sql": ["SqlSource"],
        "sources.weaviate": ["WeaviateSource"],
    },
)
