"""Stores over bases of their own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from weaviate_bases import place_on
from weaviate_server import WeaviateServer

from groundgraph.sources.weaviate_base import BasePlace, WeaviateStore


@pytest.fixture
def place(weaviate_server: WeaviateServer) -> BasePlace:
    """A place where nothing is yet."""
    return place_on(weaviate_server)


@pytest.fixture
async def store(place: BasePlace) -> AsyncIterator[WeaviateStore]:
    """A store over it."""
    store = WeaviateStore(place, fields=["year"])
    yield store
    await store.close()
