"""Servers on loopback for tests: one that closes cleanly, one that speaks a model service's wire by a script."""

from __future__ import annotations

import contextlib
import json
import socket
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

from langchain_core.embeddings import Embeddings

from groundgraph.testing.models import (
    NgramEmbeddings,
    Prompt,
    PromptMessage,
    Reply,
    Script,
    UnscriptedPrompt,
    as_forced_call,
)

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


# A threaded HTTP server on loopback that closes cleanly: no thread and no socket is left.

Body = dict[str, Any]


@dataclass(frozen=True)
class StubRequest:
    """One request as it arrived; header names are in small letters."""

    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """A request for a chat, in no provider's words.

    Attributes:
        prompt: its messages.
        model: the model's name.
        streams: whether the reply is to stream.
        number: counts the requests, from 1: what the provider calls the reply by.
        body: as it arrived.
        tools: in OpenAI's form.
        tool_choice: as `as_forced_call` takes it.
    """

    prompt: Prompt
    model: str
    streams: bool
    number: int
    body: Body
    tools: Sequence[Mapping[str, Any]] = ()
    tool_choice: Any = None


class Wire(ABC):
    """How a provider puts requests and replies. A stream is an opening, the pieces of the text, and a closing, each a
    text as it stands on the wire."""

    stream_type = "text/event-stream"

    @abstractmethod
    def asked(self, path: str, body: Body, number: int) -> Asked | None:
        """The request for a chat that arrived at `path`; None when it is another one."""

    @abstractmethod
    def whole(self, asked: Asked, reply: Reply) -> Body:
        """A reply that does not stream."""

    @abstractmethod
    def opening(self, asked: Asked, reply: Reply) -> list[str]:
        """What stands before the text of a stream."""

    @abstractmethod
    def piece(self, asked: Asked, text: str) -> str:
        """A piece of its text."""

    @abstractmethod
    def closing(self, asked: Asked, reply: Reply) -> list[str]:
        """What stands behind it."""

    @abstractmethod
    def error(self, status: int, message: str) -> Body:
        """The body of an error."""

    def texts(self, path: str, body: Body) -> list[str] | None:  # noqa: ARG002
        """What is to be embedded; None when it is another request."""
        return None

    def embedded(self, body: Body, vectors: Sequence[Sequence[float]], words: int) -> Body:
        """The `vectors` of `texts`, which have so many `words`."""
        raise NotImplementedError

    def models(self, path: str, names: Sequence[str]) -> Body | None:  # noqa: ARG002
        """The list of models, when `path` asks for it."""
        return None


def event(body: Mapping[str, Any], name: str = "") -> str:
    """`body` as a server-sent event."""
    named = f"event: {name}\n" if name else ""
    return f"{named}data: {json.dumps(body, ensure_ascii=False)}\n\n"


@dataclass(eq=False)
class WireStub:
    """A running stub; for its arguments see `openai_stub`.

    Attributes:
        requests: every request so far, in the order of arrival.
        numbers: of the requests to come.
    """

    wire: Wire
    script: Script
    _: KW_ONLY
    api_key: str | None = None
    embeddings: Embeddings | None = None
    models: Sequence[str] = ("test-model",)
    strict: bool = False
    requests: list[StubRequest] = field(default_factory=list, init=False)
    numbers: Iterator[int] = field(default_factory=partial(count, 1), init=False)

    def __post_init__(self) -> None:
        self._server = LocalServer(type("_BoundHandler", (_Handler,), {"stub": self}))

    @property
    def host(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._server.port}"

    @property
    def base_url(self) -> str:
        """What a client of OpenAI's protocol takes as `base_url`."""
        return f"{self.host}/v1"

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


def disorder(prompt: Prompt) -> str:
    """What a strict chat template has against the messages of `prompt`; empty for nothing."""
    named = [message.name for message in prompt.messages if message.name]
    roles = prompt.roles[1:] if prompt.roles[:1] == ["system"] else prompt.roles
    expected = [("user", "assistant")[n % 2] for n in range(len(roles))]
    if named:
        return f"Messages have no names, and one is called {named[0]!r}."
    return "" if roles == expected else "Conversation roles must alternate user/assistant/user/assistant/..."


class _Handler(BaseHTTPRequestHandler):
    """One connection, one request: no connection is kept, so that none is left open when the stub closes."""

    protocol_version = "HTTP/1.1"
    stub: WireStub
    server: LocalServer

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        self._received({})
        if not self._authorised():
            return
        found = self.stub.wire.models(self.path, self.stub.models)
        if found is None:
            self._send_error(404, f"The stub has no {self.path}.")
        else:
            self._send_json(200, found)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        self._received(body)
        if not self._authorised():
            return
        number = next(self.stub.numbers)
        if (asked := self.stub.wire.asked(self.path, body, number)) is not None:
            self._answer(asked)
        elif (texts := self.stub.wire.texts(self.path, body)) is not None:
            self._embed(body, texts)
        else:
            self._send_error(404, f"The stub has no {self.path}.")

    def _received(self, body: Body) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.stub.requests.append(StubRequest(self.command, self.path, headers, body))

    def _authorised(self) -> bool:
        expected = self.stub.api_key
        given = (self.headers.get(name, "") for name in ("Authorization", "x-api-key", "x-goog-api-key"))
        if expected is None or expected in [key.removeprefix("Bearer ") for key in given]:
            return True
        self._send_error(401, "Incorrect API key provided.")
        return False

    def _answer(self, asked: Asked) -> None:
        told = disorder(asked.prompt) if self.stub.strict else ""
        try:
            reply = Reply(told, status=400) if told else self.stub.script.reply_to(asked.prompt)
        except UnscriptedPrompt as problem:
            reply = Reply(str(problem), status=400)
        reply = as_forced_call(reply, asked.tools, asked.tool_choice)
        if asked.streams:
            self._stream(asked, reply)
            return
        self.server.wait(reply.seconds())
        if not self._fails(reply):
            self._send_json(200, self.stub.wire.whole(asked, reply), reply.headers)

    def _stream(self, asked: Asked, reply: Reply) -> None:
        wire = self.stub.wire
        self.server.wait(reply.delay)
        if reply.error_after is None and self._fails(reply):
            return
        # Chunked, so that a client can tell a connection that broke off from an answer that ended.
        self._send_head(200, {"Content-Type": wire.stream_type, "Transfer-Encoding": "chunked"}, reply.headers)
        self._send_chunks(wire.opening(asked, reply))
        for text in reply.pieces()[: reply.error_after]:
            self.server.wait(reply.token_delay)
            self._send_chunks([wire.piece(asked, text)])
        if reply.error_after is not None:
            self._drop()
            return
        self._send_chunks(wire.closing(asked, reply))
        self.wfile.write(b"0\r\n\r\n")

    def _embed(self, body: Body, texts: Sequence[Any]) -> None:
        if not all(isinstance(text, str) for text in texts):
            self._send_error(400, "The stub embeds texts, not tokens: set check_embedding_ctx_length=False.")
            return
        asked = Prompt((PromptMessage("embedding", "\n".join(texts)),))
        reply = self.stub.script.embedding_reply(asked) or Reply()
        self.server.wait(reply.delay)
        if not self._fails(reply):
            vectors = self.stub.vectors(texts, body.get("dimensions"))
            self._send_json(200, self.stub.wire.embedded(body, vectors, asked.words()))

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
        self._send_json(status, self.stub.wire.error(status, message), headers)

    def _send_json(self, status: int, body: Body, headers: Mapping[str, str] | None = None) -> None:
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        self._send_head(status, {"Content-Type": "application/json", "Content-Length": str(len(data))}, headers)
        self.wfile.write(data)

    def _send_head(self, status: int, own: Mapping[str, str], more: Mapping[str, str] | None) -> None:
        self.send_response(status)
        for name, value in {**own, **(more or {}), "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()

    def _send_chunks(self, texts: Sequence[str]) -> None:
        for text in texts:
            data = text.encode("utf-8", "replace")
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _drop(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)
