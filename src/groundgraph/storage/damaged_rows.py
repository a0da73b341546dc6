"""Telling which row of a saver cannot be read, and what to do about it."""

from __future__ import annotations

import shlex
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)

from groundgraph.core.errors import GroundGraphError, StorageDamaged
from groundgraph.storage.checkpoint_serializer import NotReadable, note_own

_PARTS: dict[str, type] = {
    "id": str,
    "ts": str,
    "channel_values": dict,
    "channel_versions": dict,
    "versions_seen": dict,
}


class KeptRow(NamedTuple):
    """One stored value of a thread: what it is called, and what reads it."""

    thread_id: str
    name: str
    read: Callable[[], Any]
    whole: bool = False
    """Whether it is a checkpoint, and not the value of one channel."""


def damaged(thread_id: str, row: str, reason: str) -> StorageDamaged:
    """The error for a row of `thread_id` that cannot be read."""
    return StorageDamaged(
        f"The conversation '{thread_id}' cannot be read: {row} {reason}. Nothing of it was run, and other "
        f"conversations go on. Remove this one with: groundgraph forget {shlex.quote(thread_id)}",
        thread_id=thread_id,
        row=row,
    )


class TellsDamage(BaseCheckpointSaver[Any]):
    """A saver whose reading methods raise `StorageDamaged`, with the row, for what does not decode.

    Its writes raise typed errors. To be mixed in before a saver of LangGraph's; the rows are looked through only when
    something went wrong.
    """

    def kept_rows(self, thread_id: str | None) -> AsyncGenerator[KeptRow, None]:
        """The rows of a thread, or of all, in which something is kept."""
        raise NotImplementedError

    async def storage_error(self, error: Exception) -> GroundGraphError | None:
        """The typed error for one of the database itself; None for any other."""
        raise NotImplementedError

    def writing(self) -> AbstractAsyncContextManager[None]:
        """What a write is done within: its errors of the database are raised as typed ones."""
        raise NotImplementedError

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """As LangGraph's.

        Raises:
            StorageLocked: another process or session held the file or the table.
            StorageUnavailable: the file cannot be written, or the server does not answer or has no room.
        """
        async with self.writing():
            written = await super().aput(config, checkpoint, metadata, new_versions)
        note_own(config, checkpoint)
        return written

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """As LangGraph's; raises as `aput` does."""
        async with self.writing():
            await super().aput_writes(config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """As LangGraph's; raises as `aput` does."""
        async with self.writing():
            await super().adelete_thread(thread_id)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As LangGraph's.

        Raises:
            StorageDamaged: a row of the thread cannot be read.
        """
        thread = str(config["configurable"]["thread_id"])
        try:
            found = await super().aget_tuple(config)
            if found is not None:
                _check_shape(found)
        except Exception as error:
            raise await self._told(error, thread) from error
        return found

    async def alist(self, config: RunnableConfig | None, **options: Any) -> AsyncGenerator[CheckpointTuple, None]:
        """As LangGraph's.

        Raises:
            StorageDamaged: as for `aget_tuple`.
        """
        thread = str(config["configurable"]["thread_id"]) if config else None
        try:
            async with aclosing(super().alist(config, **options)) as points:  # type: ignore[type-var]
                async for point in points:
                    _check_shape(point)
                    yield point
        except Exception as error:
            raise await self._told(error, thread) from error

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """As LangGraph's.

        Raises:
            StorageDamaged: as for `aget_tuple`.
        """
        try:
            return await super().aget_delta_channel_history(config=config, channels=channels)
        except Exception as error:
            raise await self._told(error, str(config["configurable"]["thread_id"])) from error

    async def _told(self, error: Exception, thread_id: str | None) -> Exception:
        """What a user is told in place of `error`."""
        if isinstance(error, GroundGraphError):
            return error
        return await self.storage_error(error) or await self._first_damage(thread_id) or error

    async def _first_damage(self, thread_id: str | None) -> StorageDamaged | None:
        async with aclosing(self.kept_rows(thread_id)) as rows:
            async for row in rows:
                if fault := _fault(row):
                    return damaged(row.thread_id, row.name, fault)
        return None


def _check_shape(found: CheckpointTuple) -> None:
    if fault := _shape_fault(found.checkpoint):
        place = found.config["configurable"]
        raise damaged(str(place["thread_id"]), f"the checkpoint {place['checkpoint_id']}", fault)


def _fault(row: KeptRow) -> str:
    try:
        value = row.read()
    except Exception as error:
        # Those of our own serializer say what is wrong; another one's may quote what the row holds.
        return str(error) if isinstance(error, NotReadable) else f"does not decode ({type(error).__name__})"
    return _shape_fault(value) if row.whole else ""


def _shape_fault(checkpoint: Any) -> str:
    """What a checkpoint lacks, without which nothing can be made of it."""
    if not isinstance(checkpoint, dict):
        return "is no checkpoint"
    missing = [name for name, kind in _PARTS.items() if not isinstance(checkpoint.get(name), kind)]
    return f"is no checkpoint: '{missing[0]}' is missing or wrong" if missing else ""
