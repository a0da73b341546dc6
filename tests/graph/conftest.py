"""What graphs are kept in: in memory and in a file, by the same tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.sqlite.aio import AsyncSqliteStore


@pytest.fixture(params=["memory", "sqlite"])
async def saver(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Any]:
    """A checkpointer that belongs to the event loop of the test."""
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "saved.sqlite")) as sqlite:
        yield InMemorySaver() if request.param == "memory" else sqlite


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncIterator[dict[str, Any]]:
    """A checkpointer and a store in files, as the parts of a graph that they are."""
    async with (
        AsyncSqliteSaver.from_conn_string(str(tmp_path / "saved.sqlite")) as saver,
        AsyncSqliteStore.from_conn_string(str(tmp_path / "kept.sqlite")) as store,
    ):
        await store.setup()
        yield {"checkpointer": saver, "store": store}
