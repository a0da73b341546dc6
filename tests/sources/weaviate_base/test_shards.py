"""The shards of a base: which document is in which, and what each keeps beside the whole."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.sources.weaviate_base import BasePlace
from groundgraph.sources.weaviate_base.objects import (
    SHARDS,
    document_id,
    ids_before,
    ids_of_all,
    is_in,
    own_id,
    shard_of,
)
from groundgraph.sources.weaviate_base.server import BaseState, read_state, write_state

pytestmark = pytest.mark.covers("K16")


@pytest.mark.guard
@given(st.text(max_size=40))
def test_every_document_is_in_one_shard_which_is_one_stretch_of_the_ledger(name: str) -> None:
    if "://" in name:
        return
    shard, own = shard_of(name), document_id(name)
    assert [place for place in range(SHARDS) if is_in(place, own)] == [shard]
    assert uuid.UUID(ids_before(shard)).int < uuid.UUID(own).int
    assert shard == SHARDS - 1 or uuid.UUID(own).int <= uuid.UUID(ids_before(shard + 1)).int


def test_the_pages_of_a_host_share_a_shard_and_many_documents_fill_all() -> None:
    pages = {shard_of(f"https://example.org/{number}") for number in range(50)}
    assert len(pages) == 1
    assert {shard_of(f"docs/{number}.md") for number in range(2000)} == set(range(SHARDS))
    assert len({own_id("state", None), own_id("lock", None), *ids_of_all("state"), *ids_of_all("lock")}) == 130


class Kept:
    """The objects of a state's collection, as the client gives them."""

    def __init__(self) -> None:
        self.held: dict[str, str] = {}
        self.query = self.data = self

    async def insert_many(self, objects):
        self.held |= {str(one.uuid): one.properties["value"] for one in objects}
        return SimpleNamespace(has_errors=False)

    async def fetch_object_by_id(self, id_):
        return self._one(id_) if id_ in self.held else None

    async def fetch_objects_by_ids(self, ids, **_):
        return SimpleNamespace(objects=[self._one(id_) for id_ in ids if id_ in self.held])

    def _one(self, id_):
        return SimpleNamespace(uuid=id_, properties={"value": self.held[id_]})


def test_a_shard_keeps_a_journal_of_its_own_and_the_whole_knows_of_all(place_of_nothing: BasePlace) -> None:
    async def go() -> None:
        kept, place = Kept(), place_of_nothing
        base = BaseState(changes=5, names=("author",), recent=("x",), sharded=True)
        await write_state(kept, base)
        for shard in (3, 9):
            mine = await read_state(kept, place, shard)
            assert (mine.pending, mine.recent, mine.names) == ((), (), ())
            await write_state(kept, replace(mine, pending=(f"d{shard}",), names=("year",), changes=shard), shard)
        whole = await read_state(kept, place)
        assert (whole.changes, whole.pending, whole.names) == (17, ("d3", "d9"), ("author", "year"))
        assert (await read_state(kept, place, 3)).pending == ("d3",)
        await write_state(kept, replace(base, sharded=False))
        assert (await read_state(kept, place)).changes == 5

    asyncio.run(go())


@pytest.fixture
def place_of_nothing() -> BasePlace:
    """A place that nobody asks."""
    from groundgraph.sources.weaviate import address_of

    return BasePlace(address_of("http://127.0.0.1:9"))
