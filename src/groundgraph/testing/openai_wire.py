"""OpenAI's protocol, chat completions and embeddings, for tests of everything between us and a real model.

It takes the same rules as `ScriptedChatModel`, so a turn over the wire gives the same text as one without.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from langchain_core.embeddings import Embeddings
from typing_extensions import override

from groundgraph.testing.models import Answer, Reply, ReplyLike, Rule, Script, prompt_from_wire
from groundgraph.testing.wire_stub import Asked, Body, Wire, WireStub, event


class OpenAIWire(Wire):
    """Chat completions, embeddings and the list of models."""

    @override
    def asked(self, path: str, body: Body, number: int) -> Asked | None:
        if path != "/v1/chat/completions":
            return None
        return Asked(
            prompt_from_wire(body["messages"]),
            body["model"],
            bool(body.get("stream")),
            number,
            body,
            body.get("tools") or (),
            body.get("tool_choice"),
        )

    @override
    def texts(self, path: str, body: Body) -> list[str] | None:
        if path != "/v1/embeddings":
            return None
        given = body["input"]
        return [given] if isinstance(given, str) else given

    @override
    def embedded(self, body: Body, vectors: Sequence[Sequence[float]], words: int) -> Body:
        """32-bit floats in base64, the default of the openai SDK, where the request asks for them."""
        encode = _packed if body.get("encoding_format") == "base64" else list
        data = [
            {"object": "embedding", "index": index, "embedding": encode(vector)} for index, vector in enumerate(vectors)
        ]
        usage = {"prompt_tokens": words, "total_tokens": words}
        return {"object": "list", "data": data, "model": body["model"], "usage": usage}

    @override
    def models(self, path: str, names: Sequence[str]) -> Body | None:
        if path != "/v1/models":
            return None
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "groundgraph"} for name in names]
        return {"object": "list", "data": data}

    @override
    def whole(self, asked: Asked, reply: Reply) -> Body:
        calls = [_call(*call) for call in reply.calls()]
        message: Body = {
            "role": "assistant",
            "content": None if (calls and not reply.text) or reply.refusal else self.content(reply),
            "refusal": reply.refusal,
            **reply.additional_kwargs,
            **({"tool_calls": calls} if calls else {}),
        }
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reply.stop_reason()}
        return {**_head("chat.completion", asked), "choices": [choice], "usage": _usage(asked, reply)}

    def content(self, reply: Reply) -> Any:
        """The content of a message that does not stream."""
        return reply.text

    def counts(self, asked: Asked) -> bool:
        """Whether a stream tells the tokens."""
        return bool((asked.body.get("stream_options") or {}).get("include_usage"))

    def chunk(self, asked: Asked, delta: Mapping[str, Any], finish_reason: str | None = None) -> str:
        """One event of a stream."""
        choice = {"index": 0, "delta": dict(delta), "logprobs": None, "finish_reason": finish_reason}
        return event({**_head("chat.completion.chunk", asked), "choices": [choice]})

    @override
    def opening(self, asked: Asked, reply: Reply) -> list[str]:
        return []

    @override
    def piece(self, asked: Asked, text: str) -> str:
        return self.chunk(asked, {"role": "assistant", "content": text})

    @override
    def closing(self, asked: Asked, reply: Reply) -> list[str]:
        calls = [
            self.chunk(asked, {"tool_calls": [{"index": index, **_call(*call)}]})
            for index, call in enumerate(reply.calls())
        ]
        last: Body = {"refusal": reply.refusal} if reply.refusal else {}
        end = self.chunk(asked, {**last, **reply.additional_kwargs}, reply.stop_reason())
        counted = {**_head("chat.completion.chunk", asked), "choices": [], "usage": _usage(asked, reply)}
        return [*calls, end, *([event(counted)] if self.counts(asked) else []), "data: [DONE]\n\n"]

    @override
    def error(self, status: int, message: str) -> Body:
        kind = "server_error" if status >= 500 else "invalid_request_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": str(status)}}


def _head(kind: str, asked: Asked) -> Body:
    return {"id": f"chatcmpl-{asked.number}", "object": kind, "created": 0, "model": asked.model}


def _call(call_id: str, name: str, arguments: str) -> Body:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def _usage(asked: Asked, reply: Reply) -> Body:
    sent, received = reply.counted(asked.prompt.words())
    return {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}


def _packed(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


OpenAIStub = WireStub


@contextmanager
def openai_stub(
    replies: ReplyLike | Sequence[ReplyLike] | None = None,
    /,
    *,
    rules: Sequence[Rule] = (),
    default: Answer | None = None,
    api_key: str | None = None,
    embeddings: Embeddings | None = None,
    models: Sequence[str] = ("test-model",),
    strict: bool = False,
) -> Iterator[WireStub]:
    """A server on a free port of 127.0.0.1 that answers chat completions, embeddings and the list of models.

    ::

        with openai_stub("Hello.") as stub:
            model = init_chat_model("openai:test-model", base_url=stub.base_url, api_key="test")

    Args:
        replies: as for `ScriptedChatModel`; so are `rules` and `default`.
            What no rule answers gets status 400.
        rules: see `replies`.
        default: see `replies`.
        api_key: the only key that is accepted, others get 401; any key when it is None.
        embeddings: what embeds; by default `NgramEmbeddings` with the `dimensions` of the request, or 256.
            Set `check_embedding_ctx_length=False` in LangChain's client: otherwise it sends token numbers.
        models: the names that `GET /v1/models` lists.
        strict: refuse with 400, as strict chat templates do, messages that do not alternate between user and assistant
            behind at most one of the system, or that have names.
    """
    script = Script(replies, rules=rules, default=default)
    stub = WireStub(OpenAIWire(), script, api_key=api_key, embeddings=embeddings, models=models, strict=strict)
    try:
        yield stub
    finally:
        stub.close()
