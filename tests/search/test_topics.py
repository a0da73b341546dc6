"""What a topic index knows of a store: read once for each state, in the order of documents, and never too much."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from groundgraph.core.errors import SchemaChanged, SourceUnavailable
from groundgraph.search.topics import Place, Row, Topics


def row(name, order=0, document="a", headings=("Safety",), vectors=None):
    return Row(Place(name, document, headings), order, f"key of {name}, {order}", vectors)


class Store(Topics[str]):
    """Gives `given` in pages of two."""

    def __init__(self, *given, most=100):
        super().__init__("docs", None, None)
        self.given, self.most, self.state, self.begun, self.moved = list(given), most, 1, 0, 0
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def revision(self):
        return self.state

    async def has_vectors(self):
        return any(one.vectors is not None for one in self.given)

    def too_many(self, count, *, vectors):
        return f"{count} of {self.most}" if count > self.most else ""

    async def pages(self, *, vectors):
        self.begun += 1
        for start in range(0, len(self.given), 2):
            await self.go_on.wait()
            if self.moved:
                self.moved -= 1
                raise SchemaChanged("the collection is gone")
            yield self.given[start : start + 2]


async def test_passages_come_in_the_order_of_their_documents_and_each_id_once():
    store = Store(row("b2", 2, "b"), row("a2", 2), row("b1", 1, "b"), row("a2", 1), row("a3", 3))
    reading = await store.reading(vectors=False)
    assert [place.id for place in reading.content.places] == ["a2", "a3", "b1", "b2"]
    assert reading.keys["a2"] == "key of a2, 1", "the first of its document"


async def test_a_state_is_read_once_and_the_next_one_anew():
    store = Store(row("a1"), row("a2", 1))
    first = await store.outline()
    assert await store.outline() is first
    store.state, store.given = 2, [row("a3")]
    second = await store.outline()
    assert (second.revision, [place.id for place in second.places]) == (2, ["a3"])
    assert store.begun == 2


async def test_turns_that_wait_together_wait_for_one_reading_that_outlives_them():
    store = Store(row("a1"))
    store.go_on.clear()
    turns = [asyncio.create_task(store.outline()) for _ in range(3)]
    await asyncio.sleep(0)
    turns[0].cancel()
    await asyncio.sleep(0)
    store.go_on.set()
    assert await turns[1] is await turns[2]
    assert store.begun == 1


async def test_a_vector_is_the_mean_of_those_of_a_passage_and_has_the_length_one():
    store = Store(row("a1", vectors=[3.0, 4.0]), row("a2", vectors=[[1.0, 0.0], [0.0, 1.0]]), row("a3"))
    vectors = await store.vectors()
    assert list(vectors.ids) == ["a1", "a2"]
    assert vectors.rows.dtype == np.float32
    assert vectors.rows == pytest.approx(np.array([[0.6, 0.8], [0.5**0.5, 0.5**0.5]]))
    assert await Store(row("a1")).vectors() is None


async def test_what_is_too_large_is_refused_before_it_is_all_read():
    store = Store(*(row(f"a{n}", n) for n in range(10)), most=3)
    taken = store.pages

    async def counted(*, vectors):
        async for page in taken(vectors=vectors):
            seen.append(page)
            yield page

    seen: list[object] = []
    store.pages = counted  # type: ignore[method-assign]
    with pytest.raises(SourceUnavailable, match=r"The topic index of 'docs' cannot be used: 4 of 3"):
        await store.outline()
    assert len(seen) == 2


@pytest.mark.parametrize(("moved", "is_read"), [(1, True), (2, False)])
async def test_a_collection_that_was_moved_meanwhile_is_looked_for_once_more(moved, is_read):
    store = Store(row("a1"))
    store.moved = moved
    if is_read:
        assert [place.id for place in (await store.outline()).places] == ["a1"]
    else:
        with pytest.raises(SchemaChanged):
            await store.outline()


async def test_nothing_at_all_has_an_outline():
    assert list((await Store().outline()).places) == []
