"""Nobody reaches what belongs to somebody else, on no route."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from served import filled, serving
from two_users import DOCUMENTS, SETTINGS, users_file

from groundgraph.core.errors import ConfigurationError
from groundgraph.serve.app import Served
from groundgraph.serve.users import Users

QUESTION = "How often is the pump serviced?"


@dataclass(frozen=True)
class Client:
    """Whoever signs in as `name`."""

    url: str
    name: str

    def request(self, method: str, path: str, json: object = None) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.name}-token"}
        return httpx.request(method, self.url + path, json=json, headers=headers)

    def get(self, path: str) -> httpx.Response:
        return self.request("GET", path)

    def post(self, path: str, json: object) -> httpx.Response:
        return self.request("POST", path, json)


@dataclass(frozen=True)
class House:
    """A server with two users, and a turn that Alice took: its thread, and itself."""

    url: str
    thread: str
    turn: str

    def client(self, name: str) -> Client:
        return Client(self.url, name)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("house")
    served = Served(Users.of(None, users_file(folder)), each_minute=1_000_000)
    with serving(filled(folder, DOCUMENTS, **SETTINGS), served) as url:
        alice = House(url, "", "").client("alice")
        thread = alice.post("/api/threads", json={"title": QUESTION}).json()["id"]
        lines = alice.post(f"/api/threads/{thread}/turns", json={"question": QUESTION}).text.splitlines()
        turn = json.loads(lines[-1])["ended"]
        yield House(url, thread, turn)


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


def routes(thread: str, turn: str) -> list[tuple[str, str, object]]:
    """Every route of the page below a thread."""
    own, below = f"/api/threads/{thread}", f"/api/threads/{thread}/turns/{turn}"
    return [
        ("GET", own, None),
        ("POST", f"{own}/turns", {"question": "And now?", "parent": turn}),
        ("GET", below, None),
        ("PUT", f"{below}/mark", {"mark": "bad"}),
        ("GET", f"{below}/report", None),
        ("GET", f"{below}/citations/1", None),
        ("GET", f"{below}/citations/1/page.png", None),
        ("DELETE", own, None),
    ]


@pytest.mark.covers("U8", "U13")
def test_the_threads_turns_marks_and_passages_of_another_user_are_not_there(house: House):
    alice, bob = house.client("alice"), house.client("bob")
    for method, path, body in routes(house.thread, house.turn):
        assert bob.request(method, path, json=body).status_code == 404, path
        assert httpx.request(method, house.url + path, json=body).status_code == 401, path
    assert house.thread not in bob.get("/api/threads").text
    found = alice.get(f"/api/threads/{house.thread}").json()["turns"]
    assert [(turn["question"], turn["mark"]) for turn in found] == [(QUESTION, {})]
    # A scope hides parts of a document, so no more than the passage is shown.
    passage = alice.get(f"/api/threads/{house.thread}/turns/{house.turn}/citations/1").json()
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


@given(names, names, st.sampled_from(range(8)))
@example("..", "head", 2)
@example("%2e%2e", "head", 4)
@example("x:y", "y", 0)
def test_no_name_of_a_thread_or_a_turn_leads_anywhere(house: House, thread: str, turn: str, route: int):
    known = hashlib.blake2b(b"alice", digest_size=12).hexdigest()
    for name in (thread, f"{known}:{house.thread}"):
        method, path, body = routes(_quoted(name), _quoted(turn))[route]
        assert house.client("bob").request(method, path, json=body).status_code in (404, 405), path


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
