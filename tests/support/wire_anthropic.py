"""Anthropic's wire: messages."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from groundgraph.testing.models import Prompt, PromptMessage, Reply, role_name
from groundgraph.testing.wire_stub import Asked, Body, Wire, event

_STOPS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal", "tool_calls": "tool_use"}


class AnthropicWire(Wire):
    """`POST /v1/messages`."""

    @override
    def asked(self, path: str, body: Body, number: int) -> Asked | None:
        if path.partition("?")[0] != "/v1/messages":
            return None
        system = [PromptMessage("system", _text(body["system"]))] if body.get("system") else []
        said = [PromptMessage(role_name(one["role"]), _text(one["content"])) for one in body["messages"]]
        tools = [{"function": {"name": tool["name"]}} for tool in body.get("tools", ())]
        forced = (body.get("tool_choice") or {}).get("name")
        return Asked(
            Prompt((*system, *said)), body["model"], bool(body.get("stream")), number, body, tuple(tools), forced
        )

    @override
    def whole(self, asked: Asked, reply: Reply) -> Body:
        blocks: list[Body] = []
        if reply.thoughts:
            blocks.append({"type": "thinking", "thinking": reply.thoughts, "signature": "s"})
        if reply.text:
            blocks.append({"type": "text", "text": reply.text})
        blocks += [_use(one_id, name, arguments) for one_id, name, arguments in reply.calls()]
        return {**_message(asked), "content": blocks, "stop_reason": _stop(reply), "usage": _usage(asked, reply)}

    @override
    def opening(self, asked: Asked, reply: Reply) -> list[str]:
        usage = {**_usage(asked, reply), "output_tokens": 0}
        started = {**_message(asked), "content": [], "stop_reason": None, "usage": usage}
        events = [named_event("message_start", message=started)]
        if reply.thoughts:
            events += _block(0, {"type": "thinking", "thinking": "", "signature": ""}, _thought(reply.thoughts))
        start = {"type": "text", "text": ""}
        return [*events, named_event("content_block_start", index=1, content_block=start)]

    @override
    def piece(self, asked: Asked, text: str) -> str:
        return named_event("content_block_delta", index=1, delta={"type": "text_delta", "text": text})

    @override
    def closing(self, asked: Asked, reply: Reply) -> list[str]:
        events = [named_event("content_block_stop", index=1)]
        for index, (one_id, name, arguments) in enumerate(reply.calls(), 2):
            delta = {"type": "input_json_delta", "partial_json": arguments}
            events += _block(index, {**_use(one_id, name, "{}")}, [delta])
        ended = {"stop_reason": _stop(reply), "stop_sequence": None}
        return [
            *events,
            named_event("message_delta", delta=ended, usage=_usage(asked, reply)),
            named_event("message_stop"),
        ]

    @override
    def error(self, status: int, message: str) -> Body:
        kinds = {400: "invalid_request_error", 401: "authentication_error", 429: "rate_limit_error"}
        return {"type": "error", "error": {"type": kinds.get(status, "api_error"), "message": message}}


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def _message(asked: Asked) -> Body:
    return {
        "id": f"msg_{asked.number}",
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "stop_sequence": None,
    }


def _use(one_id: str, name: str, arguments: str) -> Body:
    import json

    return {"type": "tool_use", "id": one_id, "name": name, "input": json.loads(arguments)}


def _stop(reply: Reply) -> str:
    return "refusal" if reply.refusal else _STOPS[reply.stop_reason()]


def _usage(asked: Asked, reply: Reply) -> Body:
    sent, received = reply.counted(asked.prompt.words())
    return {"input_tokens": sent, "output_tokens": received}


def named_event(kind: str, **values: Any) -> str:
    """An event of `kind`."""
    return event({"type": kind, **values}, kind)


def _thought(text: str) -> list[Body]:
    return [{"type": "thinking_delta", "thinking": text}, {"type": "signature_delta", "signature": "s"}]


def _block(index: int, start: Body, deltas: list[Body]) -> list[str]:
    changes = [named_event("content_block_delta", index=index, delta=delta) for delta in deltas]
    begun = named_event("content_block_start", index=index, content_block=start)
    return [begun, *changes, named_event("content_block_stop", index=index)]
