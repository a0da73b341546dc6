"""Ollama's own wire: `/api/chat` and `/api/embed`, streams of JSON lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from groundgraph.testing.models import Reply, prompt_from_wire
from groundgraph.testing.wire_stub import Asked, Body, Wire

_TIMES = dict.fromkeys(("total_duration", "load_duration", "prompt_eval_duration", "eval_duration"), 1)


class OllamaWire(Wire):
    """A model without a template for tools answers in text or, told `format`, in JSON."""

    stream_type = "application/x-ndjson"

    @override
    def asked(self, path: str, body: Body, number: int) -> Asked | None:
        if path != "/api/chat":
            return None
        prompt = prompt_from_wire(body["messages"])
        return Asked(prompt, body["model"], body.get("stream", True), number, body, tuple(body.get("tools") or ()))

    @override
    def texts(self, path: str, body: Body) -> list[str] | None:
        return list(body["input"]) if path == "/api/embed" else None

    @override
    def embedded(self, body: Body, vectors: Sequence[Sequence[float]], words: int) -> Body:
        return {"model": body["model"], "embeddings": [list(vector) for vector in vectors], "prompt_eval_count": words}

    @override
    def models(self, path: str, names: Sequence[str]) -> Body | None:
        return {"models": [{"name": name, "model": name} for name in names]} if path == "/api/tags" else None

    @override
    def whole(self, asked: Asked, reply: Reply) -> Body:
        thought = {"thinking": reply.thoughts} if reply.thoughts else {}
        return {**_message(asked, reply.text, **thought, **_calls(reply)), **_end(asked, reply)}

    @override
    def opening(self, asked: Asked, reply: Reply) -> list[str]:
        return [_line(_message(asked, "", thinking=reply.thoughts))] if reply.thoughts else []

    @override
    def piece(self, asked: Asked, text: str) -> str:
        return _line(_message(asked, text))

    @override
    def closing(self, asked: Asked, reply: Reply) -> list[str]:
        return [_line({**_message(asked, "", **_calls(reply)), **_end(asked, reply)})]

    @override
    def error(self, status: int, message: str) -> Body:
        return {"error": message}


def _message(asked: Asked, text: str, **more: Any) -> Body:
    said = {"role": "assistant", "content": text, **more}
    return {"model": asked.model, "created_at": "2026-01-01T00:00:00Z", "message": said, "done": False}


def _calls(reply: Reply) -> Body:
    made = [{"function": {"name": name, "arguments": json.loads(given)}} for _, name, given in reply.calls()]
    return {"tool_calls": made} if made else {}


def _end(asked: Asked, reply: Reply) -> Body:
    sent, received = reply.counted(asked.prompt.words())
    reason = "length" if reply.finish_reason == "length" else "stop"
    return {"done": True, "done_reason": reason, "prompt_eval_count": sent, "eval_count": received, **_TIMES}


def _line(body: Body) -> str:
    return json.dumps(body, ensure_ascii=False) + "\n"
