"""A hundred conversations at once on the page's interface: none hears of another, nobody waits longer than for those
before them, memory stays flat, and all go on after the server was killed. `make test-long` runs it for five minutes."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from serve_process import ServeProcess, serve_process
from served import filled

SECONDS = float(os.environ.get("GROUNDGRAPH_LOAD_SECONDS", "300"))
CONVERSATIONS = 100
FOLLOW_UP = "And where does it stand?"
SYLLABLES = ("ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ru")
# Each device has a word of its own, which no other text holds.
NAMES = [f"{first}{second}{first}x".capitalize() for first in SYLLABLES for second in SYLLABLES]


async def take(client: httpx.AsyncClient, thread: str, question: str, parent: str) -> tuple[float, dict[str, Any], str]:
    """Seconds to the first text, the end of the turn, and what was searched for."""
    began, first, searched, ended = time.monotonic(), 0.0, [], {}
    body = {"question": question, "parent": parent}
    async with client.stream("POST", f"/api/threads/{thread}/turns", json=body) as answer:
        assert answer.status_code == 200
        async for line in answer.aiter_lines():
            event = json.loads(line)
            searched += event.get("stage", {}).get("text_queries", [])
            first = first or (time.monotonic() - began if "text" in event else 0.0)
            ended = event
    assert "ended" in ended, ended
    assert first
    return first, ended, " ".join(searched)


async def go_on(client: httpx.AsyncClient, name: str, thread: str, parent: str, question: str) -> tuple[float, str]:
    """Seconds to the first text of a turn about a device, and the turn."""
    first, ended, searched = await take(client, thread, question, parent)
    assert name in ended["markdown"], (name, question, ended["markdown"])
    # Of the conversation before, a follow-up knows its own device, and no other.
    assert [other for other in NAMES if other in searched] == [name], (question, searched)
    return first, ended["ended"]


async def converse(client: httpx.AsyncClient, name: str, until: float) -> tuple[list[float], str, str]:
    """One reader: a conversation about one device, a new one every ten turns.

    Returns:
        Seconds to the first text of each turn; the conversation at the end, and its last turn.
    """
    times: list[float] = []
    thread = parent = ""
    number = 0
    # Ends behind a question that names the device, so that a follow-up is understood.
    while time.monotonic() < until or number % 2 == 0:
        if number % 10 == 0:
            thread, parent = (await client.post("/api/threads", json={"title": name})).json()["id"], ""
        question = f"How often is {name} serviced?" if number % 2 == 0 else FOLLOW_UP
        first, parent = await go_on(client, name, thread, parent, question)
        times.append(first)
        number += 1
    return times, thread, parent


async def watch(served: ServeProcess, until: float) -> list[int]:
    found = []
    while time.monotonic() < until:
        found.append(served.memory())
        await asyncio.sleep(min(1, SECONDS / 60))
    return found


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


@pytest.mark.long
@pytest.mark.covers("U8")
async def test_a_hundred_conversations_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documents = {
        f"{name}.md": f"# {name}\n\n{name} is serviced every {number + 100} days.\n\n{name} stands in hall {number}.\n"
        for number, name in enumerate(NAMES)
    }
    filled(tmp_path, documents)
    config = {"synthesis": {"style": "structured", "listing": False}, "deadlines": {"turn": 600, "source": 300}}
    (tmp_path / "groundgraph.yaml").write_text(yaml.safe_dump(config), "utf-8")
    limits = httpx.Limits(max_connections=CONVERSATIONS + 10)
    with serve_process(tmp_path) as served:
        async with httpx.AsyncClient(base_url=served.url, timeout=600, limits=limits) as client:
            await converse(client, NAMES[0], time.monotonic() + 3)
            alone, _, _ = await converse(client, NAMES[0], time.monotonic() + max(5, SECONDS / 20))
            cpu, held, began = served.cpu_seconds(), served.held_back(), time.monotonic()
            until = began + SECONDS
            memory, *heard = await asyncio.gather(
                watch(served, until), *(converse(client, name, until) for name in NAMES[:CONVERSATIONS])
            )
            took, worked = time.monotonic() - began, served.cpu_seconds() - cpu
            held = served.held_back() - held
    # It was killed, and each goes on where it was.
    with serve_process(tmp_path) as served:
        async with httpx.AsyncClient(base_url=served.url, timeout=600, limits=limits) as client:
            kept = [(name, thread, turn) for name, (_, thread, turn) in zip(NAMES, heard, strict=True)]
            await asyncio.gather(*(go_on(client, *one, FOLLOW_UP) for one in kept))
    times = [one for own, _, _ in heard for one in own]
    # Whoever asks waits for the work of about one turn of each of the others, and while the machine works for somebody
    # else; what the server itself idles away does not count.
    queueing = CONVERSATIONS * (worked + held) / len(times)
    single, p95 = percentile(alone, 0.95), percentile(times, 0.95)
    fifth = len(memory) // 5
    early, late = statistics.mean(memory[fifth : 2 * fifth]), statistics.mean(memory[-fifth:])
    with capsys.disabled():
        print(
            f"\n{len(times)} turns of {CONVERSATIONS} conversations in {took:.0f} s; CPU of a turn "
            f"{1000 * worked / len(times):.1f} ms, {worked / took:.0%} of a core, {held / took:.0%} waited for one; "
            f"first text alone p95 {single:.3f} s, together p50 {percentile(times, 0.5):.2f} s, p95 {p95:.2f} s; "
            f"queueing {queueing:.2f} s; memory {early / 1e6:.1f} MB, then {late / 1e6:.1f} MB"
        )
    assert p95 <= 1.5 * (single + queueing)
    assert late <= 1.1 * early
