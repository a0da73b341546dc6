"""Mistral's wire: OpenAI's chat completions but for thoughts, stops, the shape of errors and what it refuses."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from groundgraph.testing.models import Reply
from groundgraph.testing.openai_wire import OpenAIWire
from groundgraph.testing.wire_stub import Asked, Body


class MistralWire(OpenAIWire):
    """`POST /v1/chat/completions` and `/v1/embeddings`."""

    @override
    def content(self, reply: Reply) -> Any:
        return [*_thought(reply), {"type": "text", "text": reply.text}] if reply.thoughts else reply.text

    @override
    def opening(self, asked: Asked, reply: Reply) -> list[str]:
        return [self.chunk(asked, {"role": "assistant", "content": _thought(reply)})] if reply.thoughts else []

    @override
    def counts(self, asked: Asked) -> bool:
        return True

    @override
    def error(self, status: int, message: str) -> Body:
        return {"object": "error", "message": message, "type": "invalid_request_error", "code": status}


def _thought(reply: Reply) -> list[Body]:
    return [{"type": "thinking", "thinking": [{"type": "text", "text": reply.thoughts}]}]
