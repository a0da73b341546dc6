"""Stand-ins for tests, which need neither a key nor a network, and a kit for each contract that one can fulfil.

Names are loaded on first use, so that importing one stand-in does not load the libraries of the others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundgraph.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from groundgraph.sources.conformance import (
        CheckOutcome as CheckOutcome,
        ConformanceReport as ConformanceReport,
        check_source as check_source,
    )
    from groundgraph.sources.in_memory import InMemorySource as InMemorySource
    from groundgraph.testing.base_kit import check_base as check_base
    from groundgraph.testing.config_builder import GroundedConfigBuilder as GroundedConfigBuilder
    from groundgraph.testing.faulty_source import FaultySource as FaultySource
    from groundgraph.testing.filter_kit import check_filters as check_filters
    from groundgraph.testing.models import (
        NgramEmbeddings as NgramEmbeddings,
        Prompt as Prompt,
        PromptMessage as PromptMessage,
        Reply as Reply,
        Rule as Rule,
        ScriptedCall as ScriptedCall,
        ScriptedChatModel as ScriptedChatModel,
        ScriptedStatusError as ScriptedStatusError,
        UnscriptedPrompt as UnscriptedPrompt,
        text_response as text_response,
    )
    from groundgraph.testing.store_kit import check_store as check_store
    from groundgraph.testing.topic_kit import check_topics as check_topics
    from groundgraph.testing.turn_harness import TurnHarness as TurnHarness, TurnResult as TurnResult
    from groundgraph.testing.openai_wire import OpenAIStub as OpenAIStub, openai_stub as openai_stub

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "sources.conformance": ["CheckOutcome", "ConformanceReport", "check_source"],
        "sources.in_memory": ["InMemorySource"],
        "testing.base_kit": ["check_base"],
        "testing.config_builder": ["GroundedConfigBuilder"],
        "testing.faulty_source": ["FaultySource"],
        "testing.filter_kit": ["check_filters"],
        "testing.models": [
            "NgramEmbeddings",
            "Prompt",
            "PromptMessage",
            "Reply",
            "Rule",
            "ScriptedCall",
            "ScriptedChatModel",
            "ScriptedStatusError",
            "UnscriptedPrompt",
            "text_response",
        ],
        "testing.store_kit": ["check_store"],
        "testing.topic_kit": ["check_topics"],
        "testing.turn_harness": ["TurnHarness", "TurnResult"],
        "testing.openai_wire": ["OpenAIStub", "openai_stub"],
    },
)
