"""Savers that a turn cannot use."""

from __future__ import annotations

from typing import Any

from groundgraph.core.errors import ConfigurationError

# By name, so that the packages of savers that nobody uses are not loaded.
_SYNCHRONOUS = ("SqliteSaver", "PostgresSaver", "ShallowPostgresSaver")


def refuse_synchronous(saver: Any) -> None:
    """Refuse a saver without asynchronous methods, a parent graph's as well as one of the graph's own.

    Raises:
        ConfigurationError: `saver` is one.
    """
    name = type(saver).__name__
    if name in _SYNCHRONOUS:
        raise ConfigurationError(
            f"A turn runs asynchronously and {name} does not; use Async{name} (or open_graph). Inside a parent graph "
            "that keeps its saver, build the turn with checkpointer=False: it then has no checkpoints of its own."
        )
