"""The saver that keeps the steps of the run a step belongs to."""

from __future__ import annotations

from typing import Any

from langgraph._internal._constants import CONF, CONFIG_KEY_CHECKPOINTER, CONFIG_KEY_DURABILITY
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.config import get_config


def running_saver() -> BaseCheckpointSaver[Any] | None:
    """The saver of this run, which may be that of a parent graph or of a server; None when nothing is kept."""
    saver = get_config().get(CONF, {}).get(CONFIG_KEY_CHECKPOINTER)
    return saver if isinstance(saver, BaseCheckpointSaver) else None


def keeps_each_step() -> bool:
    """Whether the steps of this run are written while it is under way, and not only when it ends."""
    durability: str = get_config().get(CONF, {}).get(CONFIG_KEY_DURABILITY, "async")
    return durability != "exit"
