"""Pytest fixtures that start PostgreSQL, or skip with the reason that says how to get it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from postgres_server import HOW_TO_GET_IT, HOW_TO_GET_PGVECTOR, PostgresServer, debian_build, pgvector_build, running


def _refuse(reason: str) -> None:
    if os.environ.get("GROUNDGRAPH_NO_SKIPS"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server of Debian's PostgreSQL, or of whichever is installed."""
    build = debian_build()
    if build is None:
        _refuse(HOW_TO_GET_IT)
    assert build is not None
    with running(build) as server:
        yield server


@pytest.fixture(scope="session")
def vector_server() -> Iterator[PostgresServer]:
    """A server with pgvector."""
    build = pgvector_build()
    if build is None:
        _refuse(HOW_TO_GET_PGVECTOR)
    assert build is not None
    with running(build) as server:
        yield server
