"""Users see and touch only what is theirs (U2, R13, faults 67 and 68): `examples/serve` on a real server."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

pytestmark = [pytest.mark.live, pytest.mark.covers("fault 68")]

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "serve"
QUESTION = {"question": "How often is the pump serviced?"}
PUBLIC = {"/", "/ok", "/info", "/docs", "/metrics", "/openapi.json"}
DEVELOPMENT = re.compile(r"/(internal|deploy)(/|$)")
NOBODY = "00000000-0000-4000-8000-000000000000"


def signed_in(url: str, user: str) -> LangGraphClient:
    return get_client(url=url, headers={"Authorization": f"Bearer {user}-demo-token"})


@pytest.fixture
async def alice(guarded_server: str) -> AsyncIterator[LangGraphClient]:
    async with signed_in(guarded_server, "alice") as client:
        yield client


@pytest.fixture
async def bob(guarded_server: str) -> AsyncIterator[LangGraphClient]:
    async with signed_in(guarded_server, "bob") as client:
        yield client


async def status_of(call: Awaitable[Any]) -> int:
    """The status with which the server refuses a call; 200 when it does not."""
    try:
        await call
    except httpx.HTTPStatusError as error:
        return error.response.status_code
    return 200


async def a_turn(client: LangGraphClient) -> tuple[str, str, str]:
    """A thread with an answered turn, its run and a checkpoint."""
    thread = (await client.threads.create())["thread_id"]
    await client.runs.wait(thread, "turn", input=QUESTION)
    run = (await client.runs.list(thread))[0]["run_id"]
    state = await client.threads.get_state(thread)
    return thread, run, str(state["checkpoint"]["checkpoint_id"])


async def routes(url: str) -> list[tuple[str, str]]:
    """Every method and path that the server describes."""
    async with httpx.AsyncClient(base_url=url, timeout=120) as client:
        described = (await client.get("/openapi.json")).json()["paths"]
    return [(method.upper(), path) for path, methods in described.items() for method in methods]


def body_of(path: str, thread: str, run: str, checkpoint: str) -> dict[str, Any]:
    """A body that the route would take from the owner."""
    ask = {"assistant_id": "turn", "input": QUESTION}
    bodies = {
        "/threads/{thread_id}/state": {"values": {"metadata": {"title": "mine"}}, "as_node": "record_turn"},
        "/threads/{thread_id}/state/checkpoint": {"checkpoint": {"checkpoint_id": checkpoint}},
        "/threads/{thread_id}/stream/events": {"channels": ["values"]},
        "/threads/{thread_id}/commands": {"id": 1, "method": "run.start", "params": ask},
        "/threads/{thread_id}/runs": ask,
        "/threads/{thread_id}/runs/stream": ask,
        "/threads/{thread_id}/runs/wait": ask,
        "/threads/{thread_id}/runs/crons": {**ask, "schedule": "0 0 1 1 *"},
        "/threads/{thread_id}": {"metadata": {"owner": "bob"}},
        "/threads/prune": {"thread_ids": [thread]},
        "/runs/cancel": {"thread_id": thread, "run_ids": [run]},
    }
    return bodies.get(path, {})


async def test_nobody_gets_in_without_a_token(guarded_server: str) -> None:
    let_in = []
    async with httpx.AsyncClient(base_url=guarded_server, timeout=120) as client:
        for method, path in await routes(guarded_server):
            if path in PUBLIC:
                continue
            address = re.sub(r"\{\w+\}", NOBODY, path)
            for headers in ({}, {"Authorization": "Bearer nobodys"}, {"Authorization": "alice-demo-token"}):
                answer = await client.request(method, address, json={}, headers=headers)
                if answer.status_code != (404 if DEVELOPMENT.match(path) else 401):
                    let_in.append((method, path, answer.status_code))
    assert let_in == []


async def test_the_studio_of_a_stranger_is_no_way_in(guarded_server: str) -> None:
    async with httpx.AsyncClient(base_url=guarded_server, timeout=120) as client:
        answer = await client.post("/threads/search", json={}, headers={"x-auth-scheme": "langsmith"})
    assert answer.status_code == 401


async def test_a_thread_of_another_user_is_on_no_route(guarded_server: str, alice, bob) -> None:
    thread, run, checkpoint = await a_turn(alice)
    places = {"thread_id": thread, "run_id": run, "checkpoint_id": checkpoint}
    before = await alice.threads.get_state(thread)
    open_routes, tried = [], 0
    for method, path in await routes(guarded_server):
        if "{thread_id}" not in path and path not in ("/threads/prune", "/runs/cancel"):
            continue
        tried += 1
        address = path.format_map(places)
        body = body_of(path, thread, run, checkpoint) if method in ("POST", "PATCH") else None
        async with bob.http.client.stream(method, address, json=body, timeout=120) as answer:
            if answer.status_code not in (403, 404):
                open_routes.append((method, path, answer.status_code, (await answer.aread())[:200]))
    assert not open_routes, open_routes
    assert tried >= 22
    assert await alice.threads.get_state(thread) == before
    assert len(await alice.runs.list(thread)) == 1


async def test_a_thread_of_another_user_is_on_no_socket(guarded_server: str, alice) -> None:
    thread = (await alice.threads.create())["thread_id"]
    address = f"{guarded_server.replace('http', 'ws')}/threads/{thread}/stream/events"
    for user, opens in (("alice", True), ("bob", False)):
        opened = connect(address, additional_headers={"Authorization": f"Bearer {user}-demo-token"})
        if opens:
            async with opened:
                continue
        with pytest.raises(InvalidStatus, match="403"):
            await opened


async def test_the_owner_gets_through_where_others_do_not(guarded_server: str, alice) -> None:
    thread, run, checkpoint = await a_turn(alice)
    places = {"thread_id": thread, "run_id": run, "checkpoint_id": checkpoint}
    for method, path in await routes(guarded_server):
        if "{thread_id}" in path and not DEVELOPMENT.match(path) and method == "GET":
            if path.endswith(("/stream", "/storage")):
                continue
            answer = await alice.http.client.request(method, path.format_map(places), timeout=120)
            assert answer.status_code == 200, path
    copied = await alice.http.client.post(f"/threads/{thread}/copy")
    assert copied.status_code == 200
    copies = await alice.threads.search(metadata={"owner": "alice"}, ids=[copied.json()["thread_id"]])
    assert len(copies) == 1


async def test_a_search_finds_and_counts_only_ones_own(alice, bob) -> None:
    thread, *_ = await a_turn(alice)
    mine = {found["thread_id"] for found in await alice.threads.search(limit=100)}
    theirs = {found["thread_id"] for found in await bob.threads.search(limit=100)}
    assert thread in mine
    assert not mine & theirs
    assert await bob.threads.search(metadata={"owner": "alice"}) == []
    assert await bob.threads.count(metadata={"owner": "alice"}) == 0
    assert await bob.threads.search(ids=[thread]) == []


async def test_a_thread_cannot_be_made_or_given_away_in_anothers_name(alice, bob) -> None:
    thread = await bob.threads.create(metadata={"owner": "alice"})
    assert thread["metadata"]["owner"] == "bob"
    given = await bob.threads.update(thread["thread_id"], metadata={"owner": "alice"})
    assert given["metadata"]["owner"] == "bob"
    made = "5f0f3c55-7c6d-4c54-9f0f-1f3a4d1f5b10"
    await bob.runs.wait(made, "turn", input=QUESTION, if_not_exists="create", metadata={"owner": "alice"},
                        config={"metadata": {"owner": "alice"}})  # fmt: skip
    assert (await bob.threads.get(made))["metadata"]["owner"] == "bob"
    assert await status_of(alice.threads.get(made)) == 404


async def test_assistants_are_used_by_all_and_changed_by_their_owner(guarded_server: str, alice, bob) -> None:
    own = await alice.assistants.create("turn", name="alices", metadata={"published": True, "created_by": "system"})
    assert own["metadata"] == {"owner": "alice"}
    identity = own["assistant_id"]
    assert identity not in {found["assistant_id"] for found in await bob.assistants.search(limit=100)}
    refused = []
    for method, path in await routes(guarded_server):
        if "{assistant_id}" in path:
            address = path.format_map({"assistant_id": identity, "namespace": "x"})
            body = {"version": 1} if path.endswith("latest") else {}
            answer = await bob.http.client.request(method, address, json=body)
            refused.append(((method, path), answer.status_code))
    assert [one for one in refused if one[1] not in (403, 404)] == []
    assert len(refused) >= 8
    answer = await bob.http.client.post("/runs/wait", json={"assistant_id": identity, "input": QUESTION})
    assert answer.status_code == 404
    default = (await bob.assistants.search(graph_id="turn", metadata={"created_by": "system"}))[0]["assistant_id"]
    assert await status_of(bob.assistants.update(default, name="bobs")) == 404
    await alice.assistants.delete(identity)


async def test_jobs_of_another_user_are_out_of_reach(alice, bob) -> None:
    thread = (await alice.threads.create())["thread_id"]
    await alice.crons.create_for_thread(thread, "turn", schedule="0 0 1 1 *", input=QUESTION)
    job = (await alice.crons.search())[0]["cron_id"]
    assert await bob.crons.search() == []
    assert await bob.crons.count() == 0
    for method, body in (("GET", None), ("PATCH", {"schedule": "* * * * *"}), ("DELETE", None)):
        answer = await bob.http.client.request(method, f"/runs/crons/{job}", json=body)
        assert answer.status_code in (403, 404), method
    await alice.crons.delete(job)


async def test_items_of_another_user_and_of_the_turns_are_out_of_reach(alice, bob) -> None:
    await alice.store.put_item(["users", "alice", "notes"], key="one", value={"text": "mine"})
    assert (await alice.store.get_item(["users", "alice", "notes"], key="one"))["value"] == {"text": "mine"}
    await a_turn(alice)
    for place in (["users", "alice", "notes"], ["users"], ["groundgraph", "evidence"], ["groundgraph"]):
        for call in (
            bob.store.get_item(place, key="one"),
            bob.store.put_item(place, key="one", value={"text": "bob was here"}),
            bob.store.delete_item(place, key="one"),
            bob.store.search_items(place),
            bob.store.list_namespaces(prefix=place),
        ):
            assert await status_of(call) == 403
    assert (await bob.store.list_namespaces())["namespaces"] == []
    assert (await bob.store.search_items(["users", "bob"]))["items"] == []


@pytest.mark.covers("R13")
async def test_the_scope_is_that_of_the_signed_in_user(guarded_server: str, alice, bob) -> None:
    found = {}
    for name, client in (("alice", alice), ("bob", bob)):
        for graph in ("turn", "retrieval"):
            result = await client.runs.wait(None, graph, input=QUESTION)
            found[name, graph] = {row["source_id"] for row in result["provenance"]["results"]}
    assert found["alice", "turn"] == found["alice", "retrieval"] == {"acme-pump", "acme-valve"}
    assert found["bob", "turn"] == found["bob", "retrieval"] == {"globex-pump"}


@pytest.mark.covers("R13")
async def test_nobody_chooses_the_scope_of_another(bob) -> None:
    for extra in (
        {"context": {"scope": {"tenant": "acme"}}},
        {"config": {"configurable": {"user_id": "alice", "tenant": "acme"}}},
        {"config": {"configurable": {"langgraph_auth_user": {"identity": "alice", "tenant": "acme"}}}},
    ):
        result = await bob.runs.wait(None, "turn", input=QUESTION, **extra)
        assert {row["source_id"] for row in result["provenance"]["results"]} == {"globex-pump"}


@pytest.mark.covers("R13")
async def test_an_edited_state_does_not_leave_the_scope(bob) -> None:
    thread = (await bob.threads.create())["thread_id"]
    await bob.runs.wait(thread, "turn", input=QUESTION, interrupt_before=["resolve_intent"])
    intent = {"mode": "static", "text_queries": ["pump 17"], "filters": {"manuals": {"tenant": "acme"}},
              "scope": "focused", "sources": ["manuals"]}  # fmt: skip
    await bob.threads.update_state(thread, {"intent": intent}, as_node="resolve_intent")
    result = await bob.runs.wait(thread, "turn", input=None)
    assert {row["source_id"] for row in result["provenance"]["results"]} <= {"globex-pump"}


@pytest.mark.covers("U2")
def test_the_readme_of_the_example_does_what_it_says(guarded_server: str) -> None:
    text = (EXAMPLE / "README.md").read_text("utf-8").replace("http://127.0.0.1:2024", guarded_server)
    start, hashing = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    serve, create = start.strip().splitlines()
    assert serve == "langgraph dev --no-browser"
    made = run(create.split()[1:])
    assert [line.split()[1] for line in made.splitlines()] == ["strict", "hybrid", "sources_only"]
    [block] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    answers = run(["-c", block])
    assert "90 days" in answers
    assert "once a year" in answers
    token, digest = run(["-c", hashing.split('"')[1]]).split()
    assert hashlib.sha256(token.encode()).hexdigest() == digest


def run(arguments: list[str]) -> str:
    """What Python prints, in the folder of the example."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=EXAMPLE, capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_published_assistants_are_there_for_all_and_changed_by_nobody_else(guarded_server: str) -> None:
    made = [
        run(["create_assistants.py", guarded_server, f"{user}-demo-token"]) for user in ("operator", "bob", "alice")
    ]
    assert len({*made}) == 1


ODD = ["x') OR 1=1 --", "title", "owner.name", "", "owner' UNION SELECT", "$.owner", "counters_since_delta_snapshot"]


@pytest.mark.covers("fault 67")
@pytest.mark.parametrize("name", ODD)
async def test_only_known_names_filter_threads_and_history(alice, name: str) -> None:
    thread = (await alice.threads.create())["thread_id"]
    for path in ("/threads/search", "/threads/count", f"/threads/{thread}/history", f"/threads/{thread}/history/"):
        answer = await alice.http.client.post(path, json={"metadata": {name: "x"}}, follow_redirects=True)
        assert answer.status_code == 422, path
        assert "cannot be looked for" in answer.json()["detail"]


@pytest.mark.covers("fault 67")
async def test_known_names_go_on_to_the_server(alice) -> None:
    thread, *_ = await a_turn(alice)
    assert await alice.threads.get_history(thread, metadata={"source": "loop"}, limit=3)
    assert await alice.threads.get_history(thread, metadata={"source": "fork"}) == []
    assert await alice.threads.search(metadata={"graph_id": "turn"})
    broken = await alice.http.client.post("/threads/search", content=b"{", headers={"content-type": "application/json"})
    assert broken.status_code == 422
    long = await alice.http.client.post("/threads/search", json={"metadata": {"owner": "x" * 1_100_000}})
    assert long.status_code == 413


async def test_no_run_reads_another_thread_by_the_way(alice, bob) -> None:
    thread, _, checkpoint = await a_turn(alice)
    own = (await bob.threads.create())["thread_id"]
    theirs = {"thread_id": thread, "checkpoint_id": checkpoint, "checkpoint_ns": ""}
    ways: list[tuple[str, dict[str, Any]]] = [
        (f"/threads/{own}/runs/wait", {"checkpoint": theirs}),
        (f"/threads/{own}/runs/wait", {"checkpoint_id": checkpoint}),
        (f"/threads/{own}/runs/wait", {"config": {"configurable": theirs}}),
        ("/runs/wait", {"config": {"configurable": theirs}}),
        (f"/threads/{own}/state/checkpoint", {"checkpoint": theirs}),
        (f"/threads/{own}/history", {"checkpoint": theirs, "before": {"configurable": theirs}}),
    ]
    for path, body in ways:
        run = {"assistant_id": "turn", "input": QUESTION} if path.endswith("wait") else {}
        answer = await bob.http.client.post(path, json={**run, **body}, timeout=120)
        assert "90 days" not in answer.text, path
    assert (await alice.threads.get_state(thread))["checkpoint"]["checkpoint_id"] == checkpoint
