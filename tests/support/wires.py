"""The wires of the providers that ship as extras, and what a configuration names each by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from wire_anthropic import AnthropicWire
from wire_google import GoogleWire
from wire_mistral import MistralWire
from wire_ollama import OllamaWire
from wire_responses import ResponsesWire

from groundgraph.testing import Rule
from groundgraph.testing.models import Answer, ReplyLike, Script
from groundgraph.testing.openai_wire import OpenAIWire
from groundgraph.testing.wire_stub import Wire, WireStub


@dataclass(frozen=True)
class Provider:
    """A provider.

    Attributes:
        name: by which `init_chat_model` knows it.
        wire: what it speaks.
        versioned: whether its `base_url` ends in `/v1`.
        options: of the section `llm` that choose the wire.
        refuses: whether it marks refusals, as a reason to stop at least.
        asks_to_wait: whether `Retry-After` reaches us.
    """

    name: str
    wire: type[Wire]
    versioned: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    refuses: bool = True
    asks_to_wait: bool = True


PROVIDERS = {
    "openai": Provider("openai", OpenAIWire, versioned=True),
    "openai_responses": Provider("openai", ResponsesWire, versioned=True, options={"use_responses_api": True}),
    "anthropic": Provider("anthropic", AnthropicWire),
    "google": Provider("google_genai", GoogleWire),
    "mistral": Provider("mistralai", MistralWire, versioned=True, refuses=False),
    "ollama": Provider("ollama", OllamaWire, refuses=False, asks_to_wait=False),
}


@contextmanager
def wired(
    provider: str,
    replies: ReplyLike | Sequence[ReplyLike] | None = None,
    *,
    rules: Sequence[Rule] = (),
    default: Answer | None = None,
    **options: Any,
) -> Iterator[tuple[WireStub, dict[str, Any]]]:
    """A stub that is as strict as a chat template can be, and the section `llm` that leads to it."""
    one = PROVIDERS[provider]
    stub = WireStub(one.wire(), Script(replies, rules=rules, default=default), api_key="test", strict=True)
    address = stub.base_url if one.versioned else stub.host
    llm = {"provider": one.name, "model": "test-model", "base_url": address, **one.options, **options}
    # Ollama has no keys; a gateway before it takes one as a header.
    key = {"client_kwargs": {"headers": {"x-api-key": "test"}}} if one.name == "ollama" else {"api_key": "test"}
    try:
        yield stub, {**llm, **key}
    finally:
        stub.close()


def shape(stub: WireStub) -> list[dict[str, Any]]:
    """What was sent, without texts: the path, the keys of each body, and the roles."""
    chats = [(request, stub.wire.asked(request.path, request.body, 1)) for request in stub.requests]
    return [
        {"path": request.path, "keys": sorted(request.body), "roles": asked.prompt.roles if asked else []}
        for request, asked in chats
    ]
