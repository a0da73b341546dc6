"""A server that is killed and started again: every conversation goes on, on SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from postgres_fixture import postgres  # noqa: F401 - a fixture
from serve_process import ServeProcess, serve_process
from served import PUMPS, filled

pytestmark = [pytest.mark.live, pytest.mark.covers("U8")]

QUESTION = "How often is pump 17 serviced?"
FOLLOW_UP = "And pump 18?"
THREADS = 8


@pytest.fixture(params=["sqlite", "postgres"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    filled(tmp_path, {"pumps.md": PUMPS})
    kept: dict[str, Any] = {}
    if request.param == "postgres":
        at = {"type": "postgres", "url": request.getfixturevalue("postgres").database("killed")}
        kept = {"checkpointer": at, "store": at}
    config = {"synthesis": {"style": "structured", "listing": False}, **kept}
    (tmp_path / "groundgraph.yaml").write_text(yaml.safe_dump(config), "utf-8")
    return tmp_path


async def take(client: httpx.AsyncClient, thread: str, question: str, parent: str = "") -> dict[str, Any]:
    asked = {"question": question, "parent": parent}
    answer = await client.post(f"/api/threads/{thread}/turns", json=asked)
    assert answer.status_code == 200, answer.text
    last: dict[str, Any] = json.loads(answer.text.splitlines()[-1])
    assert "ended" in last, last
    return last


async def ask_until_killed(served: ServeProcess) -> list[str]:
    """Threads with a turn each, of which the second is under way when the server dies."""
    async with httpx.AsyncClient(base_url=served.url, timeout=60) as client:
        threads = []
        for number in range(THREADS):
            started = await client.post("/api/threads", json={"title": f"Thread {number}"})
            threads.append(started.json()["id"])
        first = await asyncio.gather(*(take(client, thread, QUESTION) for thread in threads))
        under_way = [
            asyncio.create_task(take(client, thread, FOLLOW_UP, turn["ended"]))
            for thread, turn in zip(threads, first, strict=True)
        ]
        # Some of them are done then, some have begun, some wait.
        await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
        served.kill()
        ended = await asyncio.gather(*under_way, return_exceptions=True)
        assert any(isinstance(one, Exception) for one in ended)
    return threads


async def go_on(served: ServeProcess, threads: list[str]) -> None:
    async with httpx.AsyncClient(base_url=served.url, timeout=60) as client:
        listed = {thread["id"] for thread in (await client.get("/api/threads")).json()["threads"]}
        assert listed == set(threads)
        for thread in threads:
            turns = (await client.get(f"/api/threads/{thread}")).json()["turns"]
            assert (turns[0]["question"], turns[0]["outcome"]) == (QUESTION, "answered")
            # What was cut is there without an outcome; what was asked last goes on behind what has ended.
            last = [turn for turn in turns if turn["outcome"]][-1]
            shown = await client.get(f"/api/threads/{thread}/turns/{last['id']}")
            assert "1" in [str(one["label"]) for one in shown.json()["citations"]]
            again = await take(client, thread, FOLLOW_UP, turns[0]["id"])
            assert "Pump 18" in again["markdown"]
            assert "retired" in again["markdown"]


async def test_every_conversation_goes_on(folder: Path) -> None:
    with serve_process(folder) as served:
        threads = await ask_until_killed(served)
    with serve_process(folder) as served:
        await go_on(served, threads)


async def begun_turn(client: httpx.AsyncClient, thread: str, begun: asyncio.Event) -> dict[str, Any]:
    """The end of a turn; `begun` is set when its answer has begun to come."""
    last: dict[str, Any] = {}
    async with client.stream("POST", f"/api/threads/{thread}/turns", json={"question": QUESTION}) as answer:
        async for line in answer.aiter_lines():
            begun.set()
            last = json.loads(line)
    return last


async def test_a_server_that_is_ended_writes_the_answers_that_have_begun(tmp_path: Path) -> None:
    filled(tmp_path, {"pumps.md": PUMPS})
    with serve_process(tmp_path) as served:
        async with httpx.AsyncClient(base_url=served.url, timeout=60) as client:
            started = [(await client.post("/api/threads", json={"title": "x"})).json()["id"] for _ in range(THREADS)]
            begun = [asyncio.Event() for _ in started]
            turns = [asyncio.create_task(begun_turn(client, *pair)) for pair in zip(started, begun, strict=True)]
            await asyncio.gather(*(event.wait() for event in begun))
            served.process.send_signal(signal.SIGINT)
            assert all("ended" in turn for turn in await asyncio.gather(*turns))
        assert await asyncio.to_thread(served.process.wait, 30) == 130
