"""Stand-ins for tests, which need neither a key nor a network, and a kit for each contract that one can fulfil.

Names are loaded on first use, so that importing one stand-in does not load the libraries of the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundgraph.sources.conformance import CheckOutcome, ConformanceReport, check_source
    from groundgraph.sources.in_memory import InMemorySource
    from groundgraph.testing.base_kit import check_base
    from groundgraph.testing.config_builder import GroundedConfigBuilder
    from groundgraph.testing.faulty_source import FaultySource
    from groundgraph.testing.filter_kit import check_filters
    from groundgraph.testing.models import NgramEmbeddings, ScriptedCall, ScriptedChatModel
    from groundgraph.testing.script import (
        Prompt,
        PromptMessage,
        Reply,
        Rule,
        ScriptedStatusError,
        UnscriptedPrompt,
        text_response,
    )
    from groundgraph.testing.store_kit import check_store
    from groundgraph.testing.topic_kit import check_topics
    from groundgraph.testing.turn_harness import TurnHarness, TurnResult
    from groundgraph.testing.wire_stub import OpenAIStub, openai_stub

_HOMES = {
    "CheckOutcome": "groundgraph.sources.conformance",
    "ConformanceReport": "groundgraph.sources.conformance",
    "FaultySource": "groundgraph.testing.faulty_source",
    "GroundedConfigBuilder": "groundgraph.testing.config_builder",
    "InMemorySource": "groundgraph.sources.in_memory",
    "NgramEmbeddings": "groundgraph.testing.models",
    "OpenAIStub": "groundgraph.testing.wire_stub",
    "Prompt": "groundgraph.testing.script",
    "PromptMessage": "groundgraph.testing.script",
    "Reply": "groundgraph.testing.script",
    "Rule": "groundgraph.testing.script",
    "ScriptedCall": "groundgraph.testing.models",
    "ScriptedChatModel": "groundgraph.testing.models",
    "ScriptedStatusError": "groundgraph.testing.script",
    "TurnHarness": "groundgraph.testing.turn_harness",
    "TurnResult": "groundgraph.testing.turn_harness",
    "UnscriptedPrompt": "groundgraph.testing.script",
    "check_base": "groundgraph.testing.base_kit",
    "check_filters": "groundgraph.testing.filter_kit",
    "check_source": "groundgraph.sources.conformance",
    "check_store": "groundgraph.testing.store_kit",
    "check_topics": "groundgraph.testing.topic_kit",
    "openai_stub": "groundgraph.testing.wire_stub",
    "text_response": "groundgraph.testing.script",
}

__all__ = [
    "CheckOutcome",
    "ConformanceReport",
    "FaultySource",
    "GroundedConfigBuilder",
    "InMemorySource",
    "NgramEmbeddings",
    "OpenAIStub",
    "Prompt",
    "PromptMessage",
    "Reply",
    "Rule",
    "ScriptedCall",
    "ScriptedChatModel",
    "ScriptedStatusError",
    "TurnHarness",
    "TurnResult",
    "UnscriptedPrompt",
    "check_base",
    "check_filters",
    "check_source",
    "check_store",
    "check_topics",
    "openai_stub",
    "text_response",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(import_module(_HOMES[name]), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
