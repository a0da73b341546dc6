"""A server that is killed, and comes back, under a connected source."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from asking import ask, opened
from plant_database import INCIDENTS

from groundgraph.core.errors import SourceUnavailable
from groundgraph.sources.sql import SqlSource

pytestmark = pytest.mark.live


@pytest.mark.parametrize("native", [False, True])
async def test_killed_and_restarted_with_a_query_every_100_ms_none_is_misclassified(postgres, native):
    url = postgres.database(
        "restart", "CREATE TABLE incidents (id int PRIMARY KEY, title text, body text, severity text)"
    )
    postgres.fill("restart", incidents=[row[:4] for row in INCIDENTS])
    if native:
        postgres.execute("CREATE INDEX ON incidents USING gin (to_tsvector('english', body)); ANALYZE", "restart")
    postgres.execute("CHECKPOINT")
    source = opened(SqlSource(url, name="plant", table="incidents", index=":memory:"))
    expected = [result.source_id for result in await ask(source, "pump leaked")]
    assert expected
    seen: Counter[str] = Counter()
    stop = asyncio.Event()

    async def keep_asking():
        while not stop.is_set():
            try:
                found = await ask(source, "pump leaked")
                seen["right" if [r.source_id for r in found] == expected else "wrong"] += 1
            except SourceUnavailable:
                seen["unavailable"] += 1
            await asyncio.sleep(0.1)

    async def told(what: str, times: int) -> None:
        """Returns when so many more queries ended like this."""
        wanted = seen[what] + times
        async with asyncio.timeout(100):
            while seen[what] < wanted:
                assert not asking.done(), "a query ended in another way"
                await asyncio.sleep(0.01)

    asking = asyncio.create_task(keep_asking())
    for _ in range(2):
        await told("right", 3)
        await asyncio.to_thread(postgres.kill)
        await told("unavailable", 3)
        await asyncio.to_thread(postgres.start)
        await told("right", 3)
    stop.set()
    await asking
    print(dict(seen))
    assert not seen["wrong"]
    assert [r.source_id for r in await ask(source, "pump leaked")] == expected


async def test_ten_sources_questions_at_once_keep_within_the_pool(postgres):
    url = postgres.database("crowd", "CREATE TABLE t (id int PRIMARY KEY, body text); INSERT INTO t VALUES (1, 'pump')")
    source = opened(SqlSource(url, name="crowd", table="t", index=":memory:"))
    answers = await asyncio.gather(*(ask(source, "pump") for _ in range(40)))
    assert {len(answer) for answer in answers} == {1}
    used = postgres.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = 'crowd'")[0][0]
    assert used <= 5
