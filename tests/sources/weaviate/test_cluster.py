"""Three nodes on loopback, each object on each of them; one is killed under load."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from weaviate.classes.config import Configure
from weaviate_collections import MAPPING, address, embedder, make
from weaviate_server import WeaviateServer, running_cluster

from groundgraph import load_settings, open_graph
from groundgraph.core.errors import GroundGraphError
from groundgraph.core.intent import RetrievalIntent
from groundgraph.sources.weaviate import WeaviateSource

pytestmark = [pytest.mark.slow, pytest.mark.covers("R4")]
PUMP = "How often is the coolant pump serviced?"
AT_ONCE = 4
# Before the kill, and as many afterwards.
TURNS = 40


@pytest.fixture
def cluster(weaviate_binary: Path) -> Iterator[Sequence[WeaviateServer]]:
    with running_cluster(weaviate_binary, 3) as nodes:
        yield nodes


def source(server: WeaviateServer, **options: Any) -> WeaviateSource:
    return WeaviateSource("Clustered", name="manuals", address=address(server), mapping=MAPPING, embedder=embedder(),
                          **options)  # fmt: skip


async def test_one_of_three_nodes_killed_under_load_fails_no_turn(cluster: Sequence[WeaviateServer]) -> None:
    await make(cluster[0], "Clustered", replication_config=Configure.replication(factor=3))
    memory = {"type": "memory"}
    settings = load_settings(
        {
            "checkpointer": memory,
            "store": memory,
            "retrieval": {"score_threshold": 0.1},
            "synthesis": {"style": "structured"},
        }
    )
    own = source(cluster[0])
    outcomes: Counter[str] = Counter()
    after_the_kill: Counter[str] = Counter()
    killed = asyncio.Event()
    async with open_graph(settings, sources=[own]) as graph:

        async def asks(number: int) -> None:
            turn = 0
            while sum(after_the_kill.values()) <= TURNS:
                turn += 1
                config: Any = {"configurable": {"thread_id": f"{number}-{turn}"}}
                output = await graph.ainvoke({"messages": [("user", PUMP)]}, config)
                status = output["provenance"]["sources"]["manuals"]["status"]
                outcomes[f"{output['outcome']} {status}"] += 1
                if killed.is_set():
                    after_the_kill[output["provenance"]["results"][0]["source_id"]] += 1

        async def kills() -> None:
            while sum(outcomes.values()) <= TURNS:
                await asyncio.sleep(0.01)
            await asyncio.to_thread(cluster[2].kill)
            killed.set()

        async with asyncio.timeout(200):
            await asyncio.gather(kills(), *(asks(number) for number in range(AT_ONCE)))
    await own.close()
    assert set(outcomes) == {"answered ok"}, outcomes
    assert set(after_the_kill) == {"pumps/0"}


async def test_with_too_few_nodes_for_the_consistency_level_the_error_is_typed(
    cluster: Sequence[WeaviateServer],
) -> None:
    await make(cluster[0], "Clustered", replication_config=Configure.replication(factor=3))
    quorum = source(cluster[0], consistency="quorum", request_timeout=5)
    found = await quorum.query(RetrievalIntent([PUMP]))
    cluster[1].kill()
    assert [one.source_id for one in await quorum.query(RetrievalIntent([PUMP]))] == [one.source_id for one in found]
    cluster[2].kill()
    with pytest.raises(GroundGraphError) as refused:
        await quorum.query(RetrievalIntent([PUMP]))
    assert type(refused.value).__name__ in ("SourceUnavailable", "SourceTimeout")
    await quorum.close()
