"""Savers made fit for long threads, and told about when they are not safe."""

from __future__ import annotations

import logging
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver

from groundgraph.graph.checkpoint_serializer import runs_code
from groundgraph.graph.synchronous_savers import refuse_synchronous

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
    from groundgraph.graph.sqlite_saver import LinearSqliteSaver

    return LinearSqliteSaver.over(checkpointer)


def _tell_of_code(checkpointer: Any) -> None:
    # What is kept in this process, nobody else can write to.
    if not isinstance(checkpointer, BaseCheckpointSaver) or isinstance(checkpointer, InMemorySaver):
        return
    if runs_code(checkpointer.serde):
        logger.warning(
            "The %s that this graph was given runs code that a row of its database names, so whoever can write to the "
            "database can run code here. Give it serde=CheckpointSerializer() of "
            "groundgraph.graph.checkpoint_serializer, set LANGGRAPH_STRICT_MSGPACK=true, or use open_graph.",
            type(checkpointer).__name__,
        )
