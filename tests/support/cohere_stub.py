"""A local HTTP server that speaks Cohere's `POST /v2/rerank`, and fails as it is told to."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from groundgraph.testing.wire_stub import LocalServer
from groundgraph.text.words import query_stems, stems

API_KEY = "a-test-key"
# Scores the documents of one request; by default by the words that they share with the query.
Scores = Callable[[str, Sequence[str]], Sequence[float]]


@dataclass(frozen=True)
class Fault:
    """One answer that is no ranking.

    Attributes:
        status: of the answer.
        body: of the answer; a message in Cohere's form when it is None.
        headers: beside the usual ones.
        wait: seconds before the answer; the stub stops waiting when it is closed.
        drop: break the connection off in place of an answer.
    """

    status: int = 500
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    wait: float = 0.0
    drop: bool = False


class CohereStub:
    """The running stub; `requests` are the bodies that arrived, `headers` theirs, `faults` what comes next, in order,
    before rankings do."""

    def __init__(self, scores: Scores, faults: Sequence[Fault]) -> None:
        self.scores = scores
        self.faults = list(faults)
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.server = LocalServer(type("_Bound", (_Handler,), {"stub": self}))

    @property
    def base_url(self) -> str:
        """What the SDK takes as `base_url`."""
        return f"http://127.0.0.1:{self.server.port}"


@contextmanager
def cohere_stub(*faults: Fault, scores: Scores | None = None) -> Iterator[CohereStub]:
    """The stub on a free port of 127.0.0.1."""
    stub = CohereStub(scores or by_shared_words, faults)
    try:
        yield stub
    finally:
        stub.server.close()


def by_shared_words(query: str, documents: Sequence[str]) -> list[float]:
    """The share of the query's stems that each document holds."""
    asked = query_stems(query)
    return [sum(stem in stems(document) for stem in asked) / len(asked) if asked else 0.0 for document in documents]


class _Handler(BaseHTTPRequestHandler):
    stub: CohereStub
    server: LocalServer

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        self.stub.requests.append(body)
        self.stub.headers.append({name.lower(): value for name, value in self.headers.items()})
        fault = self.stub.faults.pop(0) if self.stub.faults else None
        if fault:
            self._fail(fault)
        elif self.path != "/v2/rerank":
            self._send(404, {"message": f"no {self.path}"})
        elif self.headers.get("Authorization") != f"Bearer {API_KEY}":
            self._send(401, {"message": "invalid api token"})
        else:
            self._send(200, self._ranking(body))

    def _ranking(self, body: Mapping[str, Any]) -> dict[str, Any]:
        scores = self.stub.scores(body["query"], body["documents"])
        best_first = sorted(range(len(scores)), key=lambda place: -scores[place])
        results = [{"index": place, "relevance_score": scores[place]} for place in best_first]
        return {"id": "r-1", "results": results, "meta": {"api_version": {"version": "2"}}}

    def _fail(self, fault: Fault) -> None:
        self.server.wait(fault.wait)
        if fault.drop:
            self.connection.shutdown(socket.SHUT_RDWR)
        else:
            body = {"id": "e-1", "message": f"told {fault.status}"} if fault.body is None else fault.body
            self._send(fault.status, body, fault.headers)

    def _send(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Length": str(len(data)),
            **(headers or {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
