"""Savers made fit for long threads, and told about when they are not safe."""

from __future__ import annotations

import logging
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from groundgraph.core.errors import ConfigurationError
from groundgraph.storage.checkpoint_serializer import runs_code

# Savers that a turn cannot use.

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


logger = logging.getLogger(__name__)


def with_long_threads(checkpointer: Any) -> Any:
    """A SQLite saver made fit for long threads; its module is imported only when there is one.

    The log is told of a saver that would run what its rows name.

    Raises:
        ConfigurationError: the saver has no asynchronous methods.
    """
    refuse_synchronous(checkpointer)
    _tell_of_code(checkpointer)
    if type(checkpointer).__name__ != "AsyncSqliteSaver":
        return checkpointer
    from groundgraph.storage.sqlite_saver import LinearSqliteSaver

    return LinearSqliteSaver.over(checkpointer)


def _tell_of_code(checkpointer: Any) -> None:
    # What is kept in this process, nobody else can write to.
    if not isinstance(checkpointer, BaseCheckpointSaver) or isinstance(checkpointer, InMemorySaver):
        return
    if runs_code(checkpointer.serde):
        logger.warning(
            "The %s that this graph was given runs code that a row of its database names, so whoever can write to the "
            "database can run code here. Give it serde=CheckpointSerializer() of "
            "groundgraph.storage.checkpoint_serializer, set LANGGRAPH_STRICT_MSGPACK=true, or use open_graph.",
            type(checkpointer).__name__,
        )
