"""A hundred conversations at once on the page's interface: none hears of another, nobody waits longer than for those
before them, and memory stays flat. `make test-long` runs it for five minutes."""

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
    return first, ended, " ".join(searched)


async def converse(client: httpx.AsyncClient, name: str, until: float) -> list[float]:
    """One reader: a conversation about one device, a new one every ten turns."""
    times: list[float] = []
    thread = parent = ""
    number = 0
    while time.monotonic() < until:
        if number % 10 == 0:
            thread, parent = (await client.post("/api/threads", json={"title": name})).json()["id"], ""
        question = f"How often is {name} serviced?" if number % 2 == 0 else "And where does it stand?"
        first, ended, searched = await take(client, thread, question, parent)
        assert name in ended["markdown"], (name, question, ended["markdown"])
        # Of the conversation before, a follow-up knows its own device, and no other.
        assert [other for other in NAMES if other in searched] == [name], (question, searched)
        times.append(first)
        parent = ended["ended"]
        number += 1
    return times


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
            alone = await converse(client, NAMES[0], time.monotonic() + max(5, SECONDS / 20))
            cpu, began = served.cpu_seconds(), time.monotonic()
            until = began + SECONDS
            memory, *heard = await asyncio.gather(
                watch(served, until), *(converse(client, name, until) for name in NAMES[:CONVERSATIONS])
            )
            took, worked = time.monotonic() - began, served.cpu_seconds() - cpu
    times = [one for own in heard for one in own]
    # Whoever asks waits for about one turn of each of the others, at the speed that the machine leaves the server.
    queueing = CONVERSATIONS * (worked / len(times)) / min(1.0, worked / took)
    single, p95 = percentile(alone, 0.95), percentile(times, 0.95)
    fifth = len(memory) // 5
    early, late = statistics.mean(memory[fifth : 2 * fifth]), statistics.mean(memory[-fifth:])
    with capsys.disabled():
        print(
            f"\n{len(times)} turns of {CONVERSATIONS} conversations in {took:.0f} s; CPU of a turn "
            f"{1000 * worked / len(times):.1f} ms, {worked / took:.0%} of a core; first text alone p95 {single:.3f} s, "
            f"together p50 {percentile(times, 0.5):.2f} s, p95 {p95:.2f} s; queueing {queueing:.2f} s; memory "
            f"{early / 1e6:.1f} MB, then {late / 1e6:.1f} MB"
        )
    assert min(map(len, heard)) > 0
    assert p95 <= 1.5 * (single + queueing)
    assert late <= 1.1 * early
