"""The JSON bodies of the OpenAI protocol, as far as chat completions and embeddings need them."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from groundgraph.testing.prompt import Prompt
from groundgraph.testing.reply import Reply

Body = dict[str, Any]


def completion(reply: Reply, prompt: Prompt, *, model: str, completion_id: str) -> Body:
    """The body of a chat completion that does not stream."""
    calls = [_call(*call) for call in reply.calls()]
    message: Body = {
        "role": "assistant",
        "content": None if (calls and not reply.text) or reply.refusal else reply.text,
        "refusal": reply.refusal,
        **reply.additional_kwargs,
        **({"tool_calls": calls} if calls else {}),
    }
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reply.stop_reason()}
    return {
        **_head("chat.completion", model, completion_id),
        "choices": [choice],
        "usage": _usage(reply, prompt),
    }


def completion_chunks(
    reply: Reply, prompt: Prompt, *, model: str, completion_id: str, include_usage: bool
) -> Iterator[Body]:
    """The bodies of a streamed chat completion; the pieces of text come first, one per token."""
    head = _head("chat.completion.chunk", model, completion_id)
    for piece in reply.pieces():
        yield {**head, "choices": [_choice({"role": "assistant", "content": piece})]}
    for index, call in enumerate(reply.calls()):
        yield {**head, "choices": [_choice({"tool_calls": [{"index": index, **_call(*call)}]})]}
    last: Body = {"refusal": reply.refusal} if reply.refusal else {}
    yield {**head, "choices": [_choice({**last, **reply.additional_kwargs}, reply.stop_reason())]}
    if include_usage:
        yield {**head, "choices": [], "usage": _usage(reply, prompt)}


def embeddings(vectors: Sequence[Sequence[float]], *, model: str, words: int, as_base64: bool) -> Body:
    """The body of an embeddings answer; `as_base64` packs 32-bit floats, the default of the openai SDK."""
    encode = _packed if as_base64 else list
    data = [
        {"object": "embedding", "index": index, "embedding": encode(vector)} for index, vector in enumerate(vectors)
    ]
    return {
        "object": "list",
        "data": data,
        "model": model,
        "usage": {"prompt_tokens": words, "total_tokens": words},
    }


def models(names: Sequence[str]) -> Body:
    """The body of the list of models."""
    data = [{"id": name, "object": "model", "created": 0, "owned_by": "groundgraph"} for name in names]
    return {"object": "list", "data": data}


def error(message: str, *, status: int) -> Body:
    """The body of an error answer."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": str(status)}}


def _head(kind: str, model: str, completion_id: str) -> Body:
    return {"id": completion_id, "object": kind, "created": 0, "model": model}


def _choice(delta: Mapping[str, Any], finish_reason: str | None = None) -> Body:
    return {"index": 0, "delta": dict(delta), "logprobs": None, "finish_reason": finish_reason}


def _call(call_id: str, name: str, arguments: str) -> Body:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _usage(reply: Reply, prompt: Prompt) -> Body:
    sent, received = reply.counted(prompt.words())
    return {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}


def _packed(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
