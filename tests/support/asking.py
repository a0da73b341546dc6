"""Asking one source by itself, and closing what a test opened."""

from __future__ import annotations

from typing import Any, TypeVar

from turns import found as ask
from turns import ids

from groundgraph.sources.contract import GroundedSource

__all__ = ["ask", "ask_ids", "close_opened", "ids", "opened"]
Closed = TypeVar("Closed")
_opened: list[Any] = []


def opened(one: Closed) -> Closed:
    """`one`, which is closed when the test is over (`tests/sources/conftest.py`)."""
    _opened.append(one)
    return one


async def close_opened() -> None:
    while _opened:
        await _opened.pop().close()


async def ask_ids(source: GroundedSource, *questions: str, **how: Any) -> list[str]:
    """The ids of what `ask` gives."""
    return ids(await ask(source, *questions, **how))
