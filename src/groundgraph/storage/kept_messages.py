"""Conversations held in memory as the bytes that storage has of them: a message is made when it is looked at."""

from __future__ import annotations

import copy
import importlib
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple

import ormsgpack
from langchain_core.messages import BaseMessage, RemoveMessage
from langgraph.checkpoint.base import DeltaChannelHistory
from langgraph.checkpoint.serde._msgpack import SAFE_MSGPACK_TYPES
from langgraph.checkpoint.serde.jsonplus import EXT_DELTA_SNAPSHOT, EXT_PYDANTIC_V2, JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot

# A message as it is stored, and what reads it so.


class KeptBytes(NamedTuple):
    """A message as it is stored: the class of what stands for it, its id, and what it is made of by what."""

    kind: type[_Unread]
    id: str
    data: bytes
    make: Callable[[int, bytes], Any]


def keeping_messages(serializer: Any) -> Any:
    """A serializer that reads as `serializer` does, but leaves messages as `KeptBytes`; None for one of another kind,
    which may not store them like this."""
    if not isinstance(serializer, JsonPlusSerializer):
        return None
    keeping = copy.copy(serializer)
    keeping._unpack_ext_hook = _keeping(serializer._unpack_ext_hook)
    return keeping


_OPTION = ormsgpack.OPT_NON_STR_KEYS


def _keeping(make: Callable[[int, bytes], Any]) -> Callable[[int, bytes], Any]:
    def hook(code: int, data: bytes) -> Any:
        if code == EXT_DELTA_SNAPSHOT:
            return _DeltaSnapshot(ormsgpack.unpackb(data, ext_hook=hook, option=_OPTION))
        kept = _kept(data, make) if code == EXT_PYDANTIC_V2 else None
        return kept or make(code, data)

    return hook


def _kept(data: bytes, make: Callable[[int, bytes], Any]) -> KeptBytes | None:
    """None for what is no message with an id."""
    module, name, values, *_ = ormsgpack.unpackb(data, ext_hook=lambda *_: None, option=_OPTION)
    kind, given = _message_kind(module, name), values.get("id") if isinstance(values, dict) else None
    if kind is None or not isinstance(given, str) or not given or not all(isinstance(one, str) for one in values):
        return None
    return KeptBytes(_unread_kind(kind), given, data, make)


@cache
def _message_kind(module: str, name: str) -> type[BaseMessage] | None:
    if (module, name) not in SAFE_MSGPACK_TYPES or not module.startswith("langchain_core.messages."):
        return None
    kind: type[BaseMessage] = getattr(importlib.import_module(module), name)
    return kind


# What stands for a message in a state until somebody looks at it.


class _Unread:
    """What a message is until anything but its id is asked of it: its class, without any field but `id`.

    It then becomes the message itself, for good. So a list of ten thousand costs as much as those of them that are
    read, and each reader may change what it is given: nobody else has the same.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(_read(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_read(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_read(self), name)

    def __eq__(self, other: object) -> bool:
        return bool(_read(self) == _read(other))

    __hash__ = None  # type: ignore[assignment]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _read(self).__reduce_ex__(protocol)

    def __copy__(self) -> Any:
        return _read(self).__copy__()

    def __deepcopy__(self, memo: Any = None) -> Any:
        return _read(self).__deepcopy__(memo)

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        return _read(self).__dict__


# Where a model of pydantic, which a message is, has its values; it watches over setting them.
_PLACES = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
_set = object.__setattr__


def _read(message: Any) -> Any:
    if isinstance(message, _Unread):
        kept: KeptBytes = object.__getattribute__(message, "kept")
        made = kept.make(EXT_PYDANTIC_V2, kept.data)
        _set(message, "__class__", type(made))
        for place in _PLACES:
            _set(message, place, getattr(made, place))
    return message


@cache
def _unread_kind(kind: type[BaseMessage]) -> Any:
    # Under the name of the class that it stands for, by which serializers call it.
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    made: Any = type(kind)
    return made(kind.__name__, (_Unread, kind), names)


# The conversations of threads.


@dataclass(frozen=True)
class KeptConversation:
    """A conversation at a checkpoint, its messages by id, in their order; `size` is that of them all, in bytes."""

    checkpoint: str
    messages: dict[str, KeptBytes]
    size: int

    def after(self, checkpoint: str, writes: Iterable[Any]) -> KeptConversation | None:
        """The conversation at a later checkpoint, as LangGraph's reducer of messages makes it.

        Args:
            checkpoint: the later one.
            writes: to the channel since, the oldest first.

        Returns:
            None where a write is anything but messages with ids.
        """
        messages, size = dict(self.messages), self.size
        for write in writes:
            for one in write if type(write) is list else [write]:
                if not isinstance(one, KeptBytes):
                    return None
                size -= len(messages[one.id].data) if one.id in messages else 0
                if issubclass(one.kind, RemoveMessage):
                    messages.pop(one.id, None)
                else:
                    messages[one.id] = one
                    size += len(one.data)
        return KeptConversation(checkpoint, messages, size)

    def history(self) -> DeltaChannelHistory:
        """The conversation as LangGraph takes it from a saver, in messages that are its own."""
        kept = self.messages.values()
        # Loops that run in C: a thread of 5000 turns has 10000 messages in each of them.
        messages = list(map(object.__new__, map(itemgetter(0), kept)))
        deque(map(_set, messages, repeat("id"), self.messages), maxlen=0)
        deque(map(_set, messages, repeat("kept"), kept), maxlen=0)
        return {"writes": [], "seed": _DeltaSnapshot(messages)}


class KeptConversations:
    """The conversations that were read last, one of each thread and name space.

    Args:
        most: bytes of them all; the one read longest ago gives way.
    """

    def __init__(self, most: int = 64_000_000) -> None:
        self._most, self._size = most, 0
        self._held: OrderedDict[tuple[str, str], KeptConversation] = OrderedDict()

    def get(self, thread: str, space: str) -> KeptConversation | None:
        """The one of a thread, None when it is not kept."""
        return self._held.get((thread, space))

    def put(self, thread: str, space: str, one: KeptConversation) -> None:
        """Keep `one`, in place of what is kept of its thread."""
        self._drop((thread, space))
        self._held[thread, space] = one
        self._size += one.size
        while self._size > self._most:
            self._drop(next(iter(self._held)))

    def forget(self, thread: str) -> None:
        """Keep nothing of a thread."""
        for place in [place for place in self._held if place[0] == thread]:
            self._drop(place)

    def _drop(self, place: tuple[str, str]) -> None:
        if (gone := self._held.pop(place, None)) is not None:
            self._size -= gone.size
