"""Which checkpoints a run wrote itself, so that they can be told from those of another process."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from langchain_core.runnables import RunnableConfig

own_checkpoints: ContextVar[set[str] | None] = ContextVar("groundgraph_own_checkpoints", default=None)


def note_own(config: RunnableConfig, checkpoint: Mapping[str, Any]) -> None:
    """The run in whose context this is called wrote `checkpoint`, at the place in `config`; inner graphs' do not
    count."""
    written = own_checkpoints.get()
    if written is not None and not config["configurable"].get("checkpoint_ns"):
        written.add(checkpoint["id"])
