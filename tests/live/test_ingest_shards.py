"""An ingest that many processes share: the same base as by one, whatever is killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from killed_workers import KillingEmbeddings
from weaviate_bases import objects_of, weaviate_section

from groundgraph import ingest_graph, load_settings
from groundgraph.core.errors import GroundGraphError, StorageLocked
from groundgraph.core.knowledge_store import Verified
from groundgraph.graph.ingest import run_ingest
from groundgraph.graph.ingest_shards import by_processes, in_turn, ingest_shards
from groundgraph.graph.knowledge_base_files import knowledge_base_file, weaviate_store
from groundgraph.ingest.ingest_report import IngestReport
from groundgraph.sources.weaviate_base.lock import writing
from groundgraph.sources.weaviate_base.objects import SHARDS, shard_of
from groundgraph.sources.weaviate_base.server import BaseServer
from groundgraph.testing import NgramEmbeddings

pytestmark = [pytest.mark.live, pytest.mark.slow, pytest.mark.covers("K16")]
COUNT = 8


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with documents of several chunks."""
    (tmp_path / "docs").mkdir()
    for number in range(COUNT):
        text = "\n\n".join(f"## Part {part}\n\nPump {number} needs oil {part}." for part in range(3))
        (tmp_path / "docs" / f"{number}.md").write_text(f"# Manual {number}\n\n{text}\n")
    return tmp_path


def config(folder: Path, server: Any) -> Path:
    given = {"knowledge_base": {"path": "docs", **weaviate_section(server)}, "intent": {"mode": "static"}}
    file = folder / f"{given['knowledge_base']['weaviate']['prefix']}.yaml"
    file.write_text(yaml.safe_dump(given))
    return file


async def held(file: Path, *, times: bool = False) -> dict[str, Any]:
    """What a base holds: ids, properties and vectors; with `times` also when each document was written."""
    place = knowledge_base_file(load_settings(file)).place
    chunks, ledger = await objects_of(place, place.chunks(1), vector=True), await objects_of(place, place.documents)
    untimed = {} if times else {"written_at": ""}
    told = {id_: {**one.properties, **untimed} for id_, one in ledger.items()}
    return told | {id_: (one.properties, one.vector) for id_, one in chunks.items()}


async def lost(file: Path) -> Verified:
    """What no search of the base finds."""
    settings = load_settings(file)
    store = weaviate_store(settings, knowledge_base_file(settings))
    try:
        return await store.verify()
    finally:
        await store.close()


async def by_one(file: Path, embeddings: Any = None) -> IngestReport:
    graph = ingest_graph(load_settings(file), embeddings=embeddings or NgramEmbeddings(16))
    return await run_ingest(graph, {})


async def by_many(file: Path, engine: Any = in_turn, embeddings: Any = None, **options: Any) -> IngestReport:
    return await ingest_shards(file, [], engine, embeddings=embeddings or NgramEmbeddings(16), **options)


@pytest.mark.covers("K1")
@pytest.mark.parametrize("workers", [1, 4])
async def test_many_processes_give_the_same_base_as_one_and_a_second_run_writes_nothing(
    folder, weaviate_server, workers
):
    alone, shared = config(folder, weaviate_server), config(folder, weaviate_server)
    assert (await by_one(alone)).written == COUNT
    first = await by_many(shared, partial(by_processes, workers=workers))
    assert (first.written, first.failed) == (COUNT, [])
    assert await held(shared) == await held(alone)
    before = await held(shared, times=True)
    again = await by_many(shared)
    assert (again.written, again.unchanged, again.chunks) == (0, COUNT, first.chunks)
    # A single process finds nothing to do either, and goes on where the shards are.
    assert (await by_one(shared)).unchanged == COUNT
    assert await held(shared, times=True) == before


async def test_parts_that_are_taken_in_apart_make_the_whole_and_what_is_gone_leaves_with_its_part(
    folder, weaviate_server
):
    alone, shared = config(folder, weaviate_server), config(folder, weaviate_server)
    await by_one(alone)
    events: list[Any] = []
    parts = [range(part, SHARDS, 2) for part in range(2)]
    reports = [await by_many(shared, in_turn, shards=part, on_event=events.append) for part in parts]
    assert sum(report.written for report in reports) == COUNT
    assert sum(len(event.get("finished", ())) for event in events) == COUNT == sum(e.get("total", 0) for e in events)
    assert await held(shared) == await held(alone)
    (folder / "docs" / "3.md").unlink()
    gone = [(await by_many(shared, in_turn, shards=part)).deleted for part in parts]
    assert gone[shard_of("docs/3.md") % 2] == 1 == sum(gone)
    await by_one(alone)
    assert await held(shared) == await held(alone)


async def test_a_worker_that_is_killed_is_replaced_and_one_that_dies_again_loses_its_shard_alone(
    folder, weaviate_server
):
    (folder / "docs" / "3.md").write_text("# Manual 3\n\nA hostile page.\n")
    alone, once, always = (config(folder, weaviate_server) for _ in range(3))
    (folder / "harmless").touch()
    await by_one(alone, KillingEmbeddings(folder / "harmless"))
    worker = partial(by_processes, workers=1)
    report = await by_many(once, worker, KillingEmbeddings(folder / "marker"))
    assert (folder / "marker").exists()
    assert (report.written, report.failed) == (COUNT, [])
    assert await held(once) == await held(alone)
    report = await by_many(always, worker, KillingEmbeddings(None))
    left = [entry["document"] for entry in report.failed]
    shard = shard_of("docs/3.md")
    assert left == [name for name in sorted(f"docs/{n}.md" for n in range(COUNT)) if shard_of(name) == shard]
    assert f"shard {shard} was not taken in" in report.failed[0]["reason"]
    assert "SIGKILL" in report.failed[0]["reason"]
    assert report.written == COUNT - len(left)
    assert (await by_many(always, embeddings=KillingEmbeddings(folder / "marker"))).failed == []
    assert await held(always) == await held(alone)


# It waits at the first shard until nobody writes to it any more, so that it has not done when it is ended.
# Whoever runs tests in the background may have had Ctrl-C ignored.
DRIVER = """
import asyncio, signal, sys
from functools import partial
from groundgraph.graph.ingest_shards import ingest_shards
from groundgraph.graph.ingest_shards import by_processes
from groundgraph.testing import NgramEmbeddings

engine = partial(by_processes, workers=2)
def told(event):
    print(event["stage"], flush=True)
    if event["stage"].startswith("shard") and not waited:
        waited.append(sys.stdin.read())

waited = []
signal.signal(signal.SIGINT, signal.default_int_handler)
asyncio.run(ingest_shards(sys.argv[1], [], engine, embeddings=NgramEmbeddings(16), on_event=told))
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
async def test_a_driver_that_is_ended_ends_its_workers_and_the_next_goes_on(folder, weaviate_server, how):
    alone, shared = config(folder, weaviate_server), config(folder, weaviate_server)
    await by_one(alone)
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER, shared],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline() == b"find_documents\n"
        assert process.stdout.readline().startswith(b"shard ")
        workers = children(process.pid)
        assert len(workers) == 2
        process.send_signal(how)
        process.communicate(timeout=120)
    assert process.returncode != 0
    ends_at = time.monotonic() + 60
    while any(map(alive, workers)):
        assert time.monotonic() < ends_at, "a worker outlived its driver"
        await asyncio.sleep(0.1)
    report = await by_many(shared)
    assert (report.written + report.unchanged, report.failed) == (COUNT, [])
    assert await held(shared) == await held(alone)


def children(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=True)
    return list(map(int, listed.stdout.split()))


def alive(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


@pytest.mark.covers("fault 41")
async def test_a_server_that_is_killed_meanwhile_has_everything_after_the_next_run(folder, own_server):
    alone, shared = config(folder, own_server), config(folder, own_server)
    await by_one(alone)
    expected = await held(alone)
    one_is_in = asyncio.Event()

    def told(event: Any) -> None:
        if event["stage"].startswith("shard"):
            one_is_in.set()

    running = asyncio.ensure_future(by_many(shared, partial(by_processes, workers=4), on_event=told))
    await asyncio.wait_for(one_is_in.wait(), 120)
    own_server.kill()
    with contextlib.suppress(GroundGraphError):
        cut = await running
        assert cut.written + cut.unchanged + len(cut.failed) == COUNT
    own_server.start()
    report = await by_many(shared)
    assert (report.written + report.unchanged, report.failed) == (COUNT, [])
    assert await held(shared) == expected
    # The object store is not all: what its indexes lost, no search finds.
    assert vars(await lost(shared)) == {**vars(Verified()), "documents": COUNT, "chunks": report.chunks}
    assert (await by_many(shared)).written == 0


async def test_who_writes_to_a_shard_and_who_writes_to_the_whole_wait_for_each_other(folder, weaviate_server):
    file = config(folder, weaviate_server)
    await by_many(file, in_turn)
    settings = load_settings(file)
    base = knowledge_base_file(settings)
    whole, part, other = (BaseServer(base.place, shard) for shard in (None, 3, 4))
    store = weaviate_store(settings, base, 3)
    try:
        async with writing(part, 5), writing(other, 5):
            for late in (whole, part):
                with pytest.raises(StorageLocked, match="Another process"):
                    async with writing(late, 0.5):
                        pass
        async with writing(whole, 5):
            with pytest.raises(StorageLocked, match="Another process"):
                async with writing(part, 0.5):
                    pass
        assert await store.remove(["docs/absent.md"]) == 0
    finally:
        for one in (whole, part, other, store):
            await one.close()
