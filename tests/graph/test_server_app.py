"""What stands before the server's routes: filters by known names, and nothing of others' threads (faults 67, 68)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from groundgraph.core.errors import InputInvalid
from groundgraph.core.thread_id import KNOWN_METADATA_KEYS
from groundgraph.graph.server_app import Gate, app

pytestmark = pytest.mark.covers("fault 67")

MINE, THEIRS = "1b4e28ba-2fa1-41d2-883f-0016d3cca427", "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
SEARCHES = ["/threads/search", "/threads/count", f"/threads/{MINE}/history", "/assistants/search", "/assistants/count",
            "/runs/crons/search", "/prefix/threads/search", "/threads/search/"]  # fmt: skip


async def server(request: Request) -> JSONResponse:
    """In the place of a LangGraph Server: says what arrived, and what it says about threads of others."""
    path = request.url.path
    if path.endswith("/copy"):
        return JSONResponse({}, 409 if THEIRS in path else 200)
    if path.endswith(f"/threads/{THEIRS}") and request.method == "GET":
        return JSONResponse({"detail": "no such thread"}, 404)
    return JSONResponse({"body": (await request.body()).decode(), "path": path})


def client(*, signed_in: bool = True, own: tuple[str, ...] = ()) -> TestClient:
    methods = ["GET", "POST", "PATCH", "DELETE"]
    inner = Starlette(routes=[Route("/{rest:path}", server, methods=methods)])
    return TestClient(Gate(inner, own, signed_in=signed_in))


@pytest.mark.parametrize("path", SEARCHES)
def test_a_filter_by_an_unknown_name_does_not_reach_the_server(path: str) -> None:
    refused = client().post(path, json={"metadata": {"x') OR 1=1 --": "x"}})
    assert refused.status_code == 422
    assert "cannot be looked for" in refused.json()["detail"]
    body = {"metadata": {"owner": "x", "graph_id": "turn"}, "limit": 3}
    assert json.loads(client().post(path, json=body).json()["body"]) == body


@pytest.mark.guard
@given(st.dictionaries(st.text(max_size=20), st.none() | st.text(max_size=5), max_size=4))
def test_what_reaches_the_server_has_known_names_only(metadata: dict[str, Any]) -> None:
    answer = client(own=("topic",)).post("/threads/search", json={"metadata": metadata})
    known = set(metadata) <= KNOWN_METADATA_KEYS | {"topic"}
    assert answer.status_code == (200 if known else 422)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b'{"metadata": null}', b'{"metadata": [1]}'])
def test_what_is_no_filter_is_the_servers_to_refuse(body: bytes) -> None:
    assert client().post("/threads/search", content=body).json()["body"] == body.decode()


@pytest.mark.parametrize("depth", [900, 1000, 400_000])
def test_a_filter_that_nobody_could_look_into_is_refused(depth: int) -> None:
    """The server's reader takes what ours does not: a thousand levels."""
    hidden = b'{"metadata": {"evil": ' + b"[" * depth + b"]" * depth + b"}}"
    assert client().post("/threads/search", content=hidden).status_code == 422


def test_a_filter_that_is_too_long_is_refused() -> None:
    assert client().post("/threads/search", content=b"x" * 1_000_001).status_code == 413


def test_a_body_in_pieces_is_read_whole() -> None:
    pieces = iter([b'{"metadata": {"ti', b'tle": 1}}'])
    assert client().post("/threads/search", content=pieces).status_code == 422


@pytest.mark.covers("fault 68")
@pytest.mark.parametrize(
    ("method", "rest"),
    [("GET", "stream"), ("POST", "stream/events"), ("POST", "commands"), ("GET", "runs/x/stream"), ("POST", "copy")],
)
def test_a_thread_of_another_user_is_404_and_ones_own_goes_on(method: str, rest: str) -> None:
    assert client().request(method, f"/threads/{THEIRS}/{rest}").status_code == 404
    assert client().request(method, f"/threads/{MINE}/{rest}").status_code == 200


@pytest.mark.covers("fault 68")
@pytest.mark.parametrize("path", ["/internal/truncate", "/internal/debug/thread/x", "/deploy", "/deploy/x/stream"])
def test_the_doors_of_the_development_server_are_closed_where_users_sign_in(path: str) -> None:
    assert client().post(path).status_code == 404
    assert client(signed_in=False).post(path).status_code == 200


def test_an_edit_that_no_state_can_hold_is_told_to_who_made_it() -> None:
    async def edited(_request: Request) -> JSONResponse:
        raise InputInvalid("A turn's state cannot hold what was given for it.")

    handlers = app.exception_handlers
    edits = TestClient(Starlette(routes=[Route("/", edited)], exception_handlers=handlers))
    answer = edits.get("/")
    assert answer.status_code == 422
    assert answer.json() == {"detail": "A turn's state cannot hold what was given for it."}
