"""Stand-ins for tests: models, embeddings and sources that need neither a key nor a network.

Names are loaded on first use, so that importing one stand-in does not load the libraries of the others.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundgraph.sources.in_memory import InMemorySource
    from groundgraph.testing.config_builder import GroundedConfigBuilder
    from groundgraph.testing.faulty_source import FaultySource
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
    from groundgraph.testing.turn_harness import TurnHarness, TurnResult
    from groundgraph.testing.wire_stub import OpenAIStub, openai_stub

_HOMES = {
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
    "openai_stub": "groundgraph.testing.wire_stub",
    "text_response": "groundgraph.testing.script",
}

__all__ = [
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
