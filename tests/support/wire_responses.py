"""OpenAI's second wire: responses."""

from __future__ import annotations

from itertools import count
from typing import Any

from typing_extensions import override

from groundgraph.testing.models import Prompt, PromptMessage, Reply, role_name
from groundgraph.testing.openai_wire import OpenAIWire
from groundgraph.testing.wire_stub import Asked, Body, event

_WHY = {"length": "max_output_tokens", "content_filter": "content_filter"}


class ResponsesWire(OpenAIWire):
    """`POST /v1/responses`; embeddings and errors are those of the first wire."""

    @override
    def asked(self, path: str, body: Body, number: int) -> Asked | None:
        if path != "/v1/responses":
            return None
        said = [
            PromptMessage(role_name(one["role"]), _text(one["content"]), one.get("name", "")) for one in body["input"]
        ]
        tools = tuple({"function": {"name": one["name"]}} for one in body.get("tools", ()))
        choice = body.get("tool_choice")
        forced = choice.get("name") if isinstance(choice, dict) else choice
        return Asked(Prompt(tuple(said)), body["model"], bool(body.get("stream")), number, body, tools, forced)

    @override
    def whole(self, asked: Asked, reply: Reply) -> Body:
        return _response(asked, reply, _output(reply))

    @override
    def opening(self, asked: Asked, reply: Reply) -> list[str]:
        at = count()
        begun = {**_response(asked, Reply(), []), "status": "in_progress", "usage": None}
        events = [_event("response.created", at, response=begun)]
        if reply.thoughts:
            item, place = _reasoning(""), {"item_id": "rs_1", "output_index": 0, "summary_index": 0}
            part = {"type": "summary_text", "text": ""}
            events += [
                _event("response.output_item.added", at, output_index=0, item=item),
                _event("response.reasoning_summary_part.added", at, **place, part=part),
                _event("response.reasoning_summary_text.delta", at, **place, delta=reply.thoughts),
                _event("response.output_item.done", at, output_index=0, item=_reasoning(reply.thoughts)),
            ]
        message = {"id": "m_1", "type": "message", "role": "assistant", "status": "in_progress", "content": []}
        return [*events, _event("response.output_item.added", at, output_index=1, item=message)]

    @override
    def piece(self, asked: Asked, text: str) -> str:
        place = {"item_id": "m_1", "output_index": 1, "content_index": 0}
        return _event("response.output_text.delta", count(), **place, delta=text, logprobs=[])

    @override
    def closing(self, asked: Asked, reply: Reply) -> list[str]:
        at = count()
        events = []
        if reply.refusal:
            place = {"item_id": "m_1", "output_index": 1, "content_index": 0}
            events.append(_event("response.refusal.done", at, **place, refusal=reply.refusal))
        for index, call in enumerate(reply.calls(), 2):
            begun = {**_call(*call), "arguments": ""}
            events.append(_event("response.output_item.added", at, output_index=index, item=begun))
            place = {"item_id": begun["id"], "output_index": index}
            events.append(_event("response.function_call_arguments.delta", at, **place, delta=call[2]))
        whole = _response(asked, reply, _output(reply))
        return [*events, _event(f"response.{whole['status']}", at, response=whole)]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _event(kind: str, at: Any, **values: Any) -> str:
    return event({"type": kind, "sequence_number": next(at), **values}, kind)


def _reasoning(text: str) -> Body:
    return {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": text}] if text else []}


def _call(call_id: str, name: str, arguments: str) -> Body:
    return {
        "id": f"fc_{call_id}",
        "type": "function_call",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
        "status": "completed",
    }


def _output(reply: Reply) -> list[Body]:
    said: Body = {"type": "output_text", "text": reply.text, "annotations": []}
    content = {"type": "refusal", "refusal": reply.refusal} if reply.refusal else said
    message = {"id": "m_1", "type": "message", "role": "assistant", "status": "completed", "content": [content]}
    thought = [_reasoning(reply.thoughts)] if reply.thoughts else []
    return [*thought, message, *(_call(*call) for call in reply.calls())]


def _response(asked: Asked, reply: Reply, output: list[Body]) -> Body:
    sent, received = reply.counted(asked.prompt.words())
    why = _WHY.get(reply.finish_reason)
    usage = {
        "input_tokens": sent,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": received,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": sent + received,
    }
    return {
        "id": f"resp_{asked.number}",
        "object": "response",
        "created_at": 0,
        "model": asked.model,
        "status": "incomplete" if why else "completed",
        "incomplete_details": {"reason": why} if why else None,
        "error": None,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage,
    }
