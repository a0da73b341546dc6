"""The connection on a real server: deadline, readiness, breaker, several event loops, and nothing printed."""

from __future__ import annotations

import asyncio
import time

import pytest
from weaviate_server import WeaviateServer

from groundgraph.core.errors import SchemaChanged, SourceTimeout, SourceUnavailable
from groundgraph.sources.weaviate.address import Address, address_of
from groundgraph.sources.weaviate.client import WeaviateConnection

pytestmark = pytest.mark.live


def address(server: WeaviateServer) -> Address:
    return address_of(server.url, grpc_port=server.grpc_port)


async def names(client) -> set[str]:
    return set(await client.collections.list_all())


async def searched(client) -> int:
    return len((await client.collections.use("Client").query.bm25("hello")).objects)


async def _with_collection(connection: WeaviateConnection) -> None:
    from weaviate.classes.config import DataType, Property

    async def create(client) -> None:
        if not await client.collections.exists("Client"):
            made = await client.collections.create(
                "Client", properties=[Property(name="text", data_type=DataType.TEXT)]
            )
            await made.data.insert({"text": "hello world"})

    await connection.call(create)


async def test_a_connection_answers_and_closes_without_leaving_anything(weaviate_server: WeaviateServer) -> None:
    connection = WeaviateConnection(address(weaviate_server))
    await _with_collection(connection)
    assert await connection.call(searched) == 1
    await connection.close()
    assert await connection.call(searched) == 1, "closing is no end; the next request opens anew"
    await connection.close()


def test_each_event_loop_gets_a_client_of_its_own(weaviate_server: WeaviateServer) -> None:
    connection = WeaviateConnection(address(weaviate_server))

    async def used(*, close: bool) -> set[str]:
        found = await connection.call(names)
        if close:
            await connection.close()
        return found

    first = asyncio.run(used(close=True))
    assert asyncio.run(used(close=True)) == first


async def test_many_first_requests_share_one_connect(weaviate_server: WeaviateServer) -> None:
    connection = WeaviateConnection(address(weaviate_server))
    await asyncio.gather(*(connection.call(names) for _ in range(20)))
    assert len(connection._clients) == 1
    await connection.close()


async def test_nothing_listens_there(capsys) -> None:
    connection = WeaviateConnection(address_of("http://127.0.0.1:9", grpc_port=10))
    with pytest.raises(SourceUnavailable, match=r"http://127.0.0.1:9 cannot be reached"):
        await connection.call(names)
    assert not await connection.is_ready()
    await connection.close()
    assert capsys.readouterr().out == ""


@pytest.mark.covers("fault 31")
async def test_a_server_killed_under_a_connected_client_is_told_at_once(own_server, capsys) -> None:
    connection = WeaviateConnection(address(own_server))
    await _with_collection(connection)
    assert await connection.call(searched) == 1
    own_server.kill()
    for _ in range(3):
        started = time.monotonic()
        with pytest.raises(SourceUnavailable):
            await connection.call(searched)
        assert time.monotonic() - started < 20, "the client library alone takes 63 seconds"
    assert not await connection.is_ready()
    await connection.close()
    assert capsys.readouterr().out == "", "the library's is_ready prints"


async def test_a_server_that_is_silent_is_told_with_the_place_of_its_grpc(weaviate_server: WeaviateServer) -> None:
    connection = WeaviateConnection(address_of(weaviate_server.url, grpc_port=9), timeout=1.0)
    with pytest.raises(SourceTimeout, match=r"check that its gRPC is at 127\.0\.0\.1:9 \(grpc_host, grpc_port\)"):
        await connection.call(searched)
    await connection.close()


async def test_a_ready_server_without_grpc_at_its_port_is_told_within_seconds(weaviate_server: WeaviateServer) -> None:
    connection = WeaviateConnection(address_of(weaviate_server.url, grpc_port=9), timeout=30.0)
    began = time.monotonic()
    with pytest.raises(SourceUnavailable, match=r"is ready, and nothing answers at 127\.0\.0\.1:9, where its gRPC"):
        await connection.call(searched)
    assert time.monotonic() - began < 8
    await connection.close()


async def test_a_server_that_hangs_is_cut_at_the_deadline_and_serves_again_afterwards(own_server) -> None:
    connection = WeaviateConnection(address(own_server), timeout=1.5)
    await _with_collection(connection)
    own_server.freeze()
    with pytest.raises(SourceTimeout, match=r"1\.5 seconds"):
        await connection.call(searched)
    own_server.thaw()
    assert await connection.call(searched) == 1
    await connection.close()


@pytest.mark.covers("fault 38")
async def test_after_five_outages_a_server_is_left_alone_and_used_within_3_s_of_being_ready(
    own_server,
) -> None:
    connection = WeaviateConnection(address(own_server), failures=5)
    await _with_collection(connection)
    own_server.kill()
    for _ in range(5):
        with pytest.raises(SourceUnavailable, match="cannot be reached"):
            await connection.call(searched)
    with pytest.raises(SourceUnavailable, match="failed repeatedly"):
        await connection.call(searched)
    own_server.start(wait=False)
    assert (await _asked_until_it_answers(connection))[-1].startswith("SourceUnavailable"), "it was asked all the time"
    await connection.close()


async def test_a_server_that_refuses_requests_is_not_out(weaviate_server: WeaviateServer) -> None:
    async def missing(client) -> None:
        await client.collections.use("Nothing").query.bm25("x")

    connection = WeaviateConnection(address(weaviate_server), failures=2)
    for _ in range(4):
        with pytest.raises(SchemaChanged):
            await connection.call(missing)
    assert not await connection.recovered(), "so that a turn's breaker, which such refusals open, stays open"
    await connection.close()


async def test_while_a_server_restarts_no_answer_is_taken_for_missing_or_empty(own_server) -> None:
    # Without a breaker in between, each query gets as far as the server lets it.
    connection = WeaviateConnection(address(own_server), failures=10_000)
    await _with_collection(connection)
    for _ in range(2):
        own_server.kill()
        own_server.start(wait=False)
        outcomes = await _asked_until_it_answers(connection)
        assert all(outcome.startswith("SourceUnavailable") for outcome in outcomes), outcomes
        assert any("is starting and not ready yet" in outcome for outcome in outcomes)
    await connection.close()


async def _asked_until_it_answers(connection: WeaviateConnection) -> list[str]:
    """The errors of queries every 100 ms, up to the first that finds the one object."""
    outcomes = []
    while True:
        try:
            if await connection.call(searched, collection="Client") == 1:
                return outcomes
            outcomes.append("empty")
        except Exception as error:
            outcomes.append(f"{type(error).__name__}: {error}")
        await asyncio.sleep(0.1)
