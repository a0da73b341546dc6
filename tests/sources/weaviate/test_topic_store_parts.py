"""The parts of a topic store, one for each tenant, without a server."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from groundgraph.core.errors import ScopeMissing
from groundgraph.sources.weaviate import topic_store
from groundgraph.sources.weaviate.shape import PropertyMapping
from groundgraph.sources.weaviate.topic_store import WeaviateTopicStore


class SlowSource:
    """Reads an empty collection with a tenant for everyone, each page when `go_on` is set."""

    name, embedder = "docs", None
    wanted = SimpleNamespace(mapping=PropertyMapping(headings="path", document="manual", order="paragraph"))

    def __init__(self) -> None:
        self.reading, self.go_on = asyncio.Event(), asyncio.Event()

    def tenant_of(self, conditions: Any) -> str:
        if "tenant" not in conditions:
            raise ScopeMissing("no tenant")
        return conditions["tenant"]

    async def read(self, _tenant: str, work: Any) -> Any:
        if work is topic_store._count:
            return 0
        self.reading.set()
        await self.go_on.wait()
        return []


@pytest.mark.covers("X1")
async def test_a_tenant_whose_store_was_given_up_while_it_was_read_is_read_anew() -> None:
    source: Any = SlowSource()
    store = WeaviateTopicStore(source)
    first = asyncio.create_task(store.part({"tenant": "acme"}).outline())
    await source.reading.wait()
    for number in range(20):
        store.part({"tenant": f"other {number}"})
    second = asyncio.create_task(store.part({"tenant": "acme"}).outline())
    await asyncio.sleep(0.01)
    source.go_on.set()
    one, other = await asyncio.gather(first, second)
    assert list(one.places) == list(other.places) == []
    assert one.revision != other.revision
    await store.close()
