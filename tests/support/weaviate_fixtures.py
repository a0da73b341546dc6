"""One Weaviate server for the whole session; a test that ends its server starts one of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from weaviate_server import HOW_TO_GET_IT, WeaviateServer, running, server_binary


@pytest.fixture(scope="session")
def weaviate_binary() -> Path:
    """The server's binary; without it the tests are skipped, or fail where nothing may be skipped."""
    binary = server_binary()
    if binary is None:
        if os.environ.get("GROUNDGRAPH_NO_SKIPS"):
            pytest.fail(HOW_TO_GET_IT)
        pytest.skip(HOW_TO_GET_IT)
    return binary


@pytest.fixture(scope="session")
def weaviate_server(weaviate_binary: Path) -> Iterator[WeaviateServer]:
    """A server that no test ends."""
    with running(weaviate_binary) as server:
        yield server


@pytest.fixture
def own_server(weaviate_binary: Path) -> Iterator[WeaviateServer]:
    """A server that the test may end."""
    with running(weaviate_binary) as server:
        yield server
