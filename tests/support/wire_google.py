"""Google's wire: the Gemini API's `generateContent`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from groundgraph.testing.models import Prompt, PromptMessage, Reply
from groundgraph.testing.wire_stub import Asked, Body, Wire, event

_PATH = re.compile(r"/v1beta/models/([^:]+):(generateContent|streamGenerateContent)(?:\?.*)?$")
_STOPS = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}


class GoogleWire(Wire):
    """`POST /v1beta/models/NAME:generateContent`, its stream, and `batchEmbedContents`."""

    @override
    def asked(self, path: str, body: Body, number: int) -> Asked | None:
        found = _PATH.match(path)
        if not found:
            return None
        given = body.get("systemInstruction")
        system = [PromptMessage("system", _text(given))] if given else []
        roles = {"user": "user", "model": "assistant"}
        said = [PromptMessage(roles[one["role"]], _text(one)) for one in body["contents"]]
        declared = [one for tool in body.get("tools", ()) for one in tool.get("functionDeclarations", ())]
        forced = (body.get("toolConfig") or {}).get("functionCallingConfig", {}).get("mode") == "ANY"
        tools = tuple({"function": {"name": one["name"]}} for one in declared)
        streams = found[2].startswith("stream")
        return Asked(Prompt((*system, *said)), found[1], streams, number, body, tools, "any" if forced else None)

    @override
    def texts(self, path: str, body: Body) -> list[str] | None:
        if not path.partition("?")[0].endswith(":batchEmbedContents"):
            return None
        return [_text(one["content"]) for one in body["requests"]]

    @override
    def embedded(self, body: Body, vectors: Sequence[Sequence[float]], words: int) -> Body:
        return {"embeddings": [{"values": list(vector)} for vector in vectors]}

    @override
    def whole(self, asked: Asked, reply: Reply) -> Body:
        parts = [*_thought(reply), *([{"text": reply.text}] if reply.text else []), *_calls(reply)]
        return _body(asked, reply, parts, ended=True)

    @override
    def opening(self, asked: Asked, reply: Reply) -> list[str]:
        thought = _thought(reply)
        return [event(_body(asked, None, thought))] if thought else []

    @override
    def piece(self, asked: Asked, text: str) -> str:
        return event(_body(asked, None, [{"text": text}]))

    @override
    def closing(self, asked: Asked, reply: Reply) -> list[str]:
        return [event(_body(asked, reply, _calls(reply), ended=True))]

    @override
    def error(self, status: int, message: str) -> Body:
        names = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED"}
        return {"error": {"code": status, "message": message, "status": names.get(status, "INTERNAL")}}


def _text(content: Body) -> str:
    return "".join(part.get("text", "") for part in content.get("parts", ()))


def _thought(reply: Reply) -> list[Body]:
    return [{"text": reply.thoughts, "thought": True}] if reply.thoughts else []


def _calls(reply: Reply) -> list[Body]:
    return [{"functionCall": {"name": name, "args": json.loads(arguments)}} for _, name, arguments in reply.calls()]


def _body(asked: Asked, reply: Reply | None, parts: list[Body], *, ended: bool = False) -> Body:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
    found: Body = {"candidates": [candidate], "modelVersion": asked.model, "responseId": f"r{asked.number}"}
    if ended and reply:
        candidate["finishReason"] = "SAFETY" if reply.refusal else _STOPS[reply.stop_reason()]
        sent, received = reply.counted(asked.prompt.words())
        counts = {"promptTokenCount": sent, "candidatesTokenCount": received, "totalTokenCount": sent + received}
        found["usageMetadata"] = counts
    return found
