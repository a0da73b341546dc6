"""Nobody reaches what belongs to somebody else, on no route."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from served import filled, serving
from two_users import DOCUMENTS, SETTINGS, users_file

from groundgraph import open_graph
from groundgraph.core.errors import ConfigurationError
from groundgraph.serve.app import Served, serve_app
from groundgraph.serve.users import Users

QUESTION = "How often is the pump serviced?"


@dataclass(frozen=True)
class Client:
    """Whoever signs in as `name`."""

    url: str
    name: str

    def request(self, method: str, path: str, json: object = None) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.name}-token"}
        return httpx.request(method, self.url + path, json=json, headers=headers, verify=False, timeout=60)

    def get(self, path: str) -> httpx.Response:
        return self.request("GET", path)

    def post(self, path: str, json: object) -> httpx.Response:
        return self.request("POST", path, json)


@dataclass(frozen=True)
class House:
    """A server with two users, its routes, and a turn that Alice took: its thread, and itself."""

    url: str
    thread: str
    turn: str
    routes: Sequence[Any] = ()

    def client(self, name: str) -> Client:
        return Client(self.url, name)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("house")
    served = Served(Users.of(None, users_file(folder)), each_minute=1_000_000)
    settings = filled(folder, DOCUMENTS, **SETTINGS)
    with serving(settings, served) as url:
        alice = House(url, "", "").client("alice")
        thread = alice.post("/api/threads", json={"title": QUESTION}).json()["id"]
        lines = alice.post(f"/api/threads/{thread}/turns", json={"question": QUESTION}).text.splitlines()
        turn = json.loads(lines[-1])["ended"]
        yield House(url, thread, turn, asyncio.run(routes_of(settings, served)))


async def routes_of(settings: Any, served: Served) -> Sequence[Any]:
    async with open_graph(settings) as graph:
        return serve_app(graph, served).app.routes


def test_each_user_is_answered_from_what_is_theirs(house: House):
    answers = {}
    for name in ("alice", "bob"):
        asked = {"model": "groundgraph", "messages": [{"role": "user", "content": QUESTION}]}
        found = house.client(name).post("/v1/chat/completions", json=asked).json()
        answers[name] = found["choices"][0]["message"]["content"]
    assert "30 days" in answers["alice"]
    assert "globex" not in answers["alice"]
    assert "60 days" in answers["bob"]
    assert "acme" not in answers["bob"]


# A body that its owner's request would have; a route that is not named here gets all of them.
BODIES: dict[str, dict[str, object]] = {
    "/api/threads": {"title": "mine"},
    "/api/threads/{thread}/turns": {"question": "And now?"},
    "/api/threads/{thread}/turns/{turn}/mark": {"mark": "bad"},
    "/api/threads/{thread}/turns/{turn}/decision": {"decision": "approve"},
    "/v1/chat/completions": {"model": "groundgraph", "messages": [{"role": "user", "content": QUESTION}]},
}
OPEN = {"/", "/static/{name}", "/sign-in", "/api/page", "/health", "/ready"}
NOWHERE = "0123456789abcdef"


def routes(house: House) -> list[tuple[str, str]]:
    """Method and path of everything that the router has, so that a new route is tried without a word here."""
    found = [(method, route.path) for route in house.routes for method in sorted(route.methods or {"POST"})]
    assert len(found) > 18
    return [(method, path) for method, path in found if method != "HEAD"]


def address(path: str, **names: str) -> str:
    known = {"label": "1", "kind": "md", "name": "page.js", "model": "groundgraph", **names}
    return re.sub(r"\{(\w+)(:\w+)?\}", lambda match: known.get(match[1], NOWHERE), path)


def answers(client: Client, method: str, path: str, place: str) -> list[tuple[int, str]]:
    """What comes for each body that may be one of the route, the place of the thread taken out."""
    bodies = [BODIES[path]] if path in BODIES else [None] if method == "GET" else [None, {}, *BODIES.values()]
    found = [client.request(method, place, json=body) for body in bodies]
    return [(answer.status_code, answer.text) for answer in found]


@pytest.mark.covers("U8", "U13")
def test_what_belongs_to_another_user_is_on_no_route(house: House):
    alice, bob = house.client("alice"), house.client("bob")
    before = alice.get(f"/api/threads/{house.thread}").json()["turns"]
    for method, path in routes(house):
        theirs = answers(bob, method, path, address(path, thread=house.thread, turn=house.turn))
        if "{thread}" not in path:
            told = "".join(text for _, text in theirs)
            assert house.thread not in told, path
            assert "30 days" not in told, path
            continue
        nobodys = answers(bob, method, path, address(path, thread=NOWHERE, turn=NOWHERE))
        assert theirs == nobodys, (method, path)
        assert {status for status, _ in theirs} <= {400, 404, 405, 415}, (method, path)
        if path in BODIES or method in ("GET", "DELETE"):
            assert {status for status, _ in theirs} == {404}, (method, path)
    after = alice.get(f"/api/threads/{house.thread}").json()["turns"]
    assert before == after
    assert [(turn["question"], turn["mark"]) for turn in after] == [(QUESTION, {})]


@pytest.mark.covers("U8")
def test_nobody_gets_in_without_a_token(house: House):
    for method, path in routes(house):
        if path in OPEN:
            continue
        place = address(path, thread=house.thread, turn=house.turn)
        for client in (Client(house.url, "nobody"), Client(house.url, "")):
            assert {status for status, _ in answers(client, method, path, place)} == {401}, (method, path)


def test_no_more_of_a_document_is_shown_than_the_passage_where_a_scope_hides_parts(house: House):
    passage = house.client("alice").get(f"/api/threads/{house.thread}/turns/{house.turn}/citations/1").json()
    assert "30 days" in passage["html"]
    assert "tenant" not in passage["html"]


@pytest.mark.covers("U9")
def test_a_conversation_of_another_user_does_not_go_on(house: House):
    alice, bob = house.client("alice"), house.client("bob")
    said = [{"role": "user", "content": QUESTION}]
    asked = {"model": "groundgraph", "messages": said}
    first = alice.post("/v1/chat/completions", json=asked).json()
    answer = first["choices"][0]["message"]["content"]
    said += [{"role": "assistant", "content": answer}, {"role": "user", "content": "And when was it last?"}]
    threads = {
        name: client.post("/v1/chat/completions", json=asked).json()["groundgraph"]["thread"]
        for name, client in (("alice", alice), ("bob", bob))
    }
    assert threads["alice"] == first["groundgraph"]["thread"]
    assert threads["bob"] != threads["alice"]


names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=4)


@given(names, names, st.integers(0, 1000))
@example("..", "head", 2)
@example("%2e%2e", "head", 4)
@example("x:y", "y", 0)
def test_no_name_of_a_thread_or_a_turn_leads_anywhere(house: House, thread: str, turn: str, route: int):
    known = hashlib.blake2b(b"alice", digest_size=12).hexdigest()
    below = [(method, path) for method, path in routes(house) if "{thread}" in path]
    method, path = below[route % len(below)]
    for name in (thread, f"{known}:{house.thread}"):
        found = answers(house.client("bob"), method, path, address(path, thread=_quoted(name), turn=_quoted(turn)))
        assert {status for status, _ in found} <= {400, 404, 405, 415}, (method, path)


def _quoted(name: str) -> str:
    return "".join(f"%{byte:02x}" for byte in name.encode())


@pytest.mark.parametrize(
    "path", ["/static/../users.py", "/static/%2e%2e%2fusers.py", "/static/page.py", "/static/nothing.js"]
)
def test_no_other_file_is_served(house: House, path: str):
    assert httpx.get(house.url + path).status_code in (401, 404)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"alice": {}}', '{"alice": 3}'])
def test_a_table_of_users_that_cannot_be_used_is_told(tmp_path: Path, text: str):
    file = tmp_path / "users.json"
    file.write_text(text)
    with pytest.raises(ConfigurationError, match=r"users\.json"):
        Users.of(None, file)
