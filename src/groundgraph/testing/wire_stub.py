"""A local HTTP server that speaks OpenAI's protocol, for tests of everything between us and a real model.

It takes the same rules as `ScriptedChatModel`, so a turn over the wire gives the same text as one without.
"""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import struct
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

from langchain_core.embeddings import Embeddings

from groundgraph.testing.models import NgramEmbeddings
from groundgraph.testing.script import (
    Answer,
    Prompt,
    PromptMessage,
    Reply,
    ReplyLike,
    Rule,
    Script,
    UnscriptedPrompt,
    as_forced_call,
    prompt_from_wire,
)

# The JSON bodies of the OpenAI protocol, as far as chat completions and embeddings need them.

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


def embeddings_body(vectors: Sequence[Sequence[float]], *, model: str, words: int, as_base64: bool) -> Body:
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


def models_body(names: Sequence[str]) -> Body:
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


# A threaded HTTP server on loopback that closes cleanly: no thread and no socket is left.

# The longest that `close` waits for one handler, in seconds.
_JOIN_LIMIT = 5.0


class LocalServer(ThreadingHTTPServer):
    """Serves on a free port of 127.0.0.1 from construction until `close`.

    Args:
        handler: the class that handles one connection.

    Attributes:
        aborted: how often a client went away before its answer was complete.
    """

    # The threads are waited for by `close`, which knows how to end them.
    block_on_close = False
    # Fifty clients at once are no reason to turn one away.
    request_queue_size = 128

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.aborted = 0
        self._closing = threading.Event()
        self._open: dict[socket.socket, threading.Thread] = {}
        self._main = threading.Thread(target=self._serve, name="groundgraph-stub", daemon=True)
        self._main.start()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.server_address[1])

    def wait(self, seconds: float) -> None:
        """Wait, or less when the server closes meanwhile."""
        if seconds > 0:
            self._closing.wait(seconds)

    def close(self) -> None:
        """Stop listening, break open connections off, and wait for every thread."""
        self._closing.set()
        self.shutdown()
        self._main.join()
        for connection, thread in list(self._open.items()):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            thread.join(_JOIN_LIMIT)
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Handle one connection in a thread that `close` knows from before it starts."""
        arguments = (request, client_address)
        thread = threading.Thread(target=self.process_request_thread, args=arguments, daemon=True)
        self._open[request] = thread
        thread.start()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Handle one connection and forget it."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._open.pop(request, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Count clients that went away; anything else is a fault of the stub and is printed."""
        if isinstance(sys.exc_info()[1], ConnectionError):
            self.aborted += 1
        else:
            super().handle_error(request, client_address)

    def _serve(self) -> None:
        # The default interval of half a second would be paid at every close.
        self.serve_forever(poll_interval=0.01)


@dataclass(frozen=True)
class StubRequest:
    """One request as it arrived; header names are in small letters."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class OpenAIStub:
    """The running stub; see `openai_stub`.

    Attributes:
        requests: every request so far, in the order of arrival.
        numbers: numbers the completions.
    """

    def __init__(
        self, script: Script, *, api_key: str | None, embeddings: Embeddings | None, models: Sequence[str]
    ) -> None:
        self.script = script
        self.api_key = api_key
        self.embeddings = embeddings
        self.models = list(models)
        self.requests: list[StubRequest] = []
        self.numbers = count(1)
        self._server = LocalServer(type("_BoundHandler", (_Handler,), {"stub": self}))

    @property
    def base_url(self) -> str:
        """What a client takes as `base_url`."""
        return f"http://127.0.0.1:{self._server.port}/v1"

    @property
    def aborted(self) -> int:
        """How often a client went away before its answer was complete, as a cancelled stream does."""
        return self._server.aborted

    def close(self) -> None:
        """Stop the server; leaving the `with` block does it."""
        self._server.close()

    def vectors(self, texts: Sequence[str], dimensions: int | None) -> list[list[float]]:
        """The embeddings of `texts`."""
        model = self.embeddings or NgramEmbeddings(dimensions or 256)
        return model.embed_documents(list(texts))


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
) -> Iterator[OpenAIStub]:
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
    """
    script = Script(replies, rules=rules, default=default)
    stub = OpenAIStub(script, api_key=api_key, embeddings=embeddings, models=models)
    try:
        yield stub
    finally:
        stub.close()


class _Handler(BaseHTTPRequestHandler):
    """One connection, one request: no connection is kept, so that none is left open when the stub closes."""

    protocol_version = "HTTP/1.1"
    stub: OpenAIStub
    server: LocalServer

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        self._received({})
        if not self._authorised():
            return
        if self.path == "/v1/models":
            self._send_json(200, models_body(self.stub.models))
        else:
            self._send_error(404, f"The stub has no {self.path}.")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        self._received(body)
        if not self._authorised():
            return
        if self.path == "/v1/chat/completions":
            self._complete(body, f"chatcmpl-{next(self.stub.numbers)}")
        elif self.path == "/v1/embeddings":
            self._embed(body)
        else:
            self._send_error(404, f"The stub has no {self.path}.")

    def _received(self, body: dict[str, Any]) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.stub.requests.append(StubRequest(self.command, self.path, headers, body))

    def _authorised(self) -> bool:
        expected = self.stub.api_key
        if expected is None or self.headers.get("Authorization") == f"Bearer {expected}":
            return True
        self._send_error(401, "Incorrect API key provided.")
        return False

    def _complete(self, body: dict[str, Any], completion_id: str) -> None:
        prompt = prompt_from_wire(body["messages"])
        try:
            reply = self.stub.script.reply_to(prompt)
        except UnscriptedPrompt as problem:
            self._send_error(400, str(problem))
            return
        reply = as_forced_call(reply, body.get("tools"), body.get("tool_choice"))
        if body.get("stream"):
            self._send_completion_stream(body, reply, prompt, completion_id)
            return
        self.server.wait(reply.seconds())
        if not self._fails(reply):
            made = completion(reply, prompt, model=body["model"], completion_id=completion_id)
            self._send_json(200, made, reply.headers)

    def _send_completion_stream(self, body: dict[str, Any], reply: Reply, prompt: Prompt, completion_id: str) -> None:
        self.server.wait(reply.delay)
        if reply.error_after is None and self._fails(reply):
            return
        self._begin_stream(reply.headers)
        include_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        chunks = completion_chunks(
            reply, prompt, model=body["model"], completion_id=completion_id, include_usage=include_usage
        )
        for number, chunk in enumerate(chunks):
            if number == reply.error_after:
                break
            if number < len(reply.pieces()):
                self.server.wait(reply.token_delay)
            self._send_event(json.dumps(chunk, ensure_ascii=False))
        if reply.error_after is not None:
            self._drop()
            return
        self._send_event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def _embed(self, body: dict[str, Any]) -> None:
        given = body["input"]
        texts = [given] if isinstance(given, str) else given
        if not all(isinstance(text, str) for text in texts):
            self._send_error(400, "The stub embeds texts, not tokens: set check_embedding_ctx_length=False.")
            return
        asked = Prompt((PromptMessage("embedding", "\n".join(texts)),))
        reply = self.stub.script.embedding_reply(asked) or Reply()
        self.server.wait(reply.delay)
        if self._fails(reply):
            return
        vectors = self.stub.vectors(texts, body.get("dimensions"))
        as_base64 = body.get("encoding_format") == "base64"
        self._send_json(200, embeddings_body(vectors, model=body["model"], words=asked.words(), as_base64=as_base64))

    def _fails(self, reply: Reply) -> bool:
        """Send the error that `reply` asks for, if any."""
        failure = reply.failure()
        if failure is None:
            return False
        if reply.status < 400 and isinstance(failure, ConnectionError):
            self._drop()
        else:
            status = reply.status if reply.status >= 400 else 500
            self._send_error(status, reply.text or str(failure) or type(failure).__name__, reply.headers)
        return True

    def _send_error(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        self._send_json(status, error(message, status=status), headers)

    def _send_json(self, status: int, body: Body, headers: Mapping[str, str] | None = None) -> None:
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        self._send_head(status, {"Content-Type": "application/json", "Content-Length": str(len(data))}, headers)
        self.wfile.write(data)

    def _begin_stream(self, headers: Mapping[str, str]) -> None:
        # Chunked, so that a client can tell a connection that broke off from an answer that ended.
        self._send_head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}, headers)

    def _send_head(self, status: int, own: Mapping[str, str], more: Mapping[str, str] | None) -> None:
        self.send_response(status)
        for name, value in {**own, **(more or {}), "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()

    def _send_event(self, data: str) -> None:
        event = f"data: {data}\n\n".encode("utf-8", "replace")
        self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))

    def _drop(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
