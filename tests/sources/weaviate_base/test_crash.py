"""Servers and writers that are killed with kill -9: nothing is lost, nothing is there twice (faults 41, 50, 54)."""

from __future__ import annotations

import asyncio
import random
import signal
import time

import pytest
from killed_ingest import embedded, report_of, started
from weaviate_bases import objects_of, place_on
from weaviate_server import WeaviateServer

from groundgraph import ingest_graph, load_settings
from groundgraph.core.document import Document
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import SourceError
from groundgraph.core.intent import RetrievalIntent
from groundgraph.graph.ingest import run_ingest
from groundgraph.sources.weaviate_base import BasePlace, WeaviateBaseSource, WeaviateStore
from groundgraph.testing import NgramEmbeddings

pytestmark = [pytest.mark.live, pytest.mark.slow, pytest.mark.covers("fault 41")]
COUNT = 150


def documents(count: int = COUNT) -> list[Document]:
    return [Document(f"d{n:03}", f"Document number{n} tells about subject{n % 97}.") for n in range(count)]


def settings_of(place: BasePlace) -> dict:
    address = place.address
    where = {"url": address.url, "grpc_port": address.grpc_port, "prefix": place.prefix}
    return {"knowledge_base": {"backend": "weaviate", "weaviate": where}, "intent": {"mode": "static"}}


async def ingest(place: BasePlace, count: int = COUNT, embeddings: NgramEmbeddings | None = None):
    graph = ingest_graph(load_settings(settings_of(place)), embeddings=embeddings or NgramEmbeddings(16))
    return await run_ingest(graph, {"documents": documents(count)})


class Halting(NgramEmbeddings):
    """Halts half-way until it is let go on."""

    def __init__(self) -> None:
        super().__init__(16)
        self.texts, self.halts, self.go_on = 0, asyncio.Event(), asyncio.Event()

    async def aembed_documents(self, texts):
        if self.texts >= COUNT / 2:
            self.halts.set()
            await self.go_on.wait()
        self.texts += len(texts)
        return self.embed_documents(texts)


# The base notes by its name which model its vectors are from.
Halting.__name__ = NgramEmbeddings.__name__


async def check_complete(place: BasePlace, expected: set[str]) -> None:
    """Every document is there once, under the ids of an ingest that nothing disturbed, and is found by its vector."""
    assert set(await objects_of(place, place.chunks(1))) == expected
    assert len(await objects_of(place, place.documents)) == len(expected)
    source = WeaviateBaseSource(place, embedder=Embedder(NgramEmbeddings(16), "NgramEmbeddings"), vector_weight=1.0)
    missing = []
    for one in documents(len(expected)):
        found = await source.query(RetrievalIntent([one.text]), top_k=5)
        # Many of these texts are alike, so a few others may be as near.
        if one.name not in {result.metadata["document"] for result in found}:
            missing.append(one.name)
    await source.close()
    assert missing == []


_undisturbed: dict[int, set[str]] = {}


async def undisturbed(server: WeaviateServer, count: int = COUNT) -> set[str]:
    """The ids of the chunks, whichever base they are in."""
    if count not in _undisturbed:
        place = place_on(server)
        assert (await ingest(place, count)).written == count
        _undisturbed[count] = set(await objects_of(place, place.chunks(1)))
    return _undisturbed[count]


async def test_a_server_that_is_killed_during_an_ingest_loses_nothing_and_doubles_nothing(weaviate_server, own_server):
    expected = await undisturbed(weaviate_server)
    place = place_on(own_server)
    halting = Halting()
    running = asyncio.ensure_future(ingest(place, embeddings=halting))
    await asyncio.wait({running, asyncio.ensure_future(halting.halts.wait())}, return_when="FIRST_COMPLETED")
    while not running.done() and len(await objects_of(place, place.documents)) < 100:
        await asyncio.sleep(0.1)
    halting.go_on.set()
    # In the middle of what is written next.
    await asyncio.sleep(0.02)
    assert not running.done()
    own_server.kill()
    with pytest.raises(SourceError):
        await running
    own_server.start()
    acknowledged = {one.properties["name"] for one in (await objects_of(place, place.documents)).values()}
    assert 100 <= len(acknowledged) < COUNT
    report = await ingest(place)
    assert report.failed == []
    # What the ledger had is not processed again.
    assert (report.unchanged, report.written) == (len(acknowledged), COUNT - len(acknowledged))
    store = WeaviateStore(place)
    verified = await store.verify()
    print(f"acknowledged {len(acknowledged)} of {COUNT}; verify: {verified}")
    # What the index had lost was found out when the second ingest opened the base.
    assert (verified.repaired, verified.removed, verified.incomplete) == (0, 0, [])
    await store.close()
    await check_complete(place, expected)
    again = await ingest(place)
    assert (again.written, again.unchanged) == (0, COUNT)


async def test_after_a_server_was_killed_right_behind_an_ingest_the_next_one_mends_what_the_index_lost(
    weaviate_server, own_server
):
    expected = await undisturbed(weaviate_server)
    place = place_on(own_server)
    assert (await ingest(place)).written == COUNT
    own_server.kill()
    own_server.start()
    report = await ingest(place)
    assert (report.written, report.unchanged) == (0, COUNT)
    store = WeaviateStore(place)
    verified = await store.verify()
    print(f"killed behind an ingest, ingested again, verify: {verified}")
    assert (verified.chunks, verified.repaired, verified.removed, verified.incomplete) == (COUNT, 0, 0, [])
    await store.close()
    await check_complete(place, expected)


@pytest.mark.covers("K1")
@pytest.mark.parametrize("asynchronous", ["true", "false"])
async def test_verify_repairs_what_an_index_lost_when_the_server_was_killed(weaviate_binary, asynchronous):
    from weaviate_server import running

    with running(weaviate_binary, ASYNC_INDEXING=asynchronous) as server:
        place = place_on(server)
        expected = await undisturbed(server)
        assert (await ingest(place)).written == COUNT
        server.kill()
        server.start()
        store = WeaviateStore(place)
        verified = await store.verify()
        print(f"asynchronous indexing {asynchronous}: killed behind an ingest, verify: {verified}")
        assert (verified.chunks, verified.incomplete) == (COUNT, [])
        assert (await store.verify()).repaired == 0
        await store.close()
        await check_complete(place, expected)


def test_a_writer_that_is_killed_again_and_again_ends_with_the_same_and_repeats_little(weaviate_server, tmp_path):
    count, chance = 320, random.Random(6)
    place = place_on(weaviate_server)
    expected = asyncio.run(undisturbed(weaviate_server, count))
    kills = 0
    while True:
        begun = len(embedded(tmp_path))
        writer = started(tmp_path, settings_of(place), {"documents": documents(count)})
        if kills < 4:
            while len(embedded(tmp_path)) == begun and writer.is_alive():
                time.sleep(0.005)
            time.sleep(chance.uniform(0.0, 0.15))
            writer.kill()
            writer.join()
        if kills == 4 or writer.exitcode != -signal.SIGKILL:
            break
        kills += 1
    assert report_of(writer, tmp_path)["failed"] == []
    assert kills >= 3
    asyncio.run(check_complete(place, expected))
    texts = len(embedded(tmp_path))
    print(f"{kills} kills; {texts} texts embedded for {count} documents")
    # A batch holds 64 documents: no more than one is lost with each kill.
    assert count <= texts <= count + 64 * kills
    store = WeaviateStore(place)
    verified = asyncio.run(_verified(store))
    assert (verified.repaired, verified.removed, verified.incomplete) == (0, 0, [])


async def _verified(store: WeaviateStore):
    try:
        return await store.verify()
    finally:
        await store.close()
