"""How values are written into checkpoints and read again: nothing that is read is run.

LangGraph's serializer imports and calls whatever a row names, unless it is given a list or an environment variable is
set. Whoever can write to the database could then run code in the process that reads it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import ormsgpack
from langgraph.checkpoint.serde._msgpack import SAFE_MSGPACK_METHODS, SAFE_MSGPACK_TYPES
from langgraph.checkpoint.serde.jsonplus import (
    EXT_DELTA_SNAPSHOT,
    EXT_METHOD_SINGLE_ARG,
    EXT_NUMPY_ARRAY,
    JsonPlusSerializer,
)
from typing_extensions import override

CHECKPOINT_TYPES: tuple[tuple[str, str], ...] = ()
"""Module and name of every type that a checkpoint of ours may hold beside those that LangGraph always reads.

Also written into each `langgraph.json`, by scripts/server_files.py; a test holds it against the channels.
"""

_KINDS = ("null", "bytes", "bytearray", "msgpack")
_READABLE = SAFE_MSGPACK_TYPES | set(CHECKPOINT_TYPES)
_OPTION = ormsgpack.OPT_NON_STR_KEYS

logger = logging.getLogger(__name__)


class NotReadable(ValueError):
    """A stored value is damaged, or names something that is not on the list. Whoever knows the row makes it
    `StorageDamaged`."""


class CheckpointSerializer(JsonPlusSerializer):
    """LangGraph's serializer with the list of types that may be read, whatever the environment says.

    A value of another type is written as the plain data that it consists of, so that all that is written can be read.
    """

    def __init__(self) -> None:
        super().__init__(
            pickle_fallback=False, allowed_json_modules=None, allowed_msgpack_modules=CHECKPOINT_TYPES or None
        )

    @override
    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        kind, blob = super().dumps_typed(obj)
        if kind == "msgpack" and (reason := _fault(blob)):
            logger.warning("A checkpoint keeps a value as plain data, since what it holds %s.", reason)
            return super().dumps_typed(super().loads_typed((kind, blob)))
        return kind, blob

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """As LangGraph's.

        Raises:
            NotReadable: nothing of ours was written like this; nothing of it was run.
        """
        kind, blob = data
        if kind not in _KINDS:
            raise NotReadable(f"is of the kind '{kind}', which is not read")
        if kind == "msgpack" and (reason := _fault(blob)):
            raise NotReadable(reason)
        try:
            return super().loads_typed(data)
        except Exception as error:
            raise NotReadable(f"does not decode ({type(error).__name__})") from error


def runs_code(serializer: Any) -> bool:
    """Whether what `serializer` reads could name code that it then runs; False also for one that nobody here knows."""
    if not isinstance(serializer, JsonPlusSerializer):
        return False
    return bool(
        serializer.pickle_fallback
        or serializer._allowed_msgpack_modules is True
        or serializer._allowed_json_modules is True
    )


def _fault(blob: bytes) -> str:
    """Why a value must not be read; empty when it may be. Nothing is built of it to find out."""
    faults: list[str] = []
    look = _inspector(faults)
    try:
        ormsgpack.unpackb(blob, ext_hook=look, option=_OPTION)
    except Exception:
        # What the inspection raises, ormsgpack replaces by an error of its own.
        return faults[0] if faults else "does not decode"
    return ""


def _inspector(faults: list[str]) -> Callable[[int, bytes], Any]:
    def look(code: int, data: bytes) -> Any:
        inner = ormsgpack.unpackb(data, ext_hook=look, option=_OPTION)
        if code in (EXT_DELTA_SNAPSHOT, EXT_NUMPY_ARRAY):
            return None
        if fault := _constructor_fault(code, inner):
            faults.append(fault)
            raise NotReadable(fault)
        return None

    return look


def _constructor_fault(code: int, inner: Any) -> str:
    """What is wrong with a value that names what makes it, as [module, name, arguments] and perhaps a method."""
    size = 4 if code == EXT_METHOD_SINGLE_ARG else 3
    if not isinstance(inner, list) or len(inner) < size or not all(isinstance(part, str) for part in inner[:2]):
        return f"holds a value of the kind {code} that names nothing"
    module, name = inner[0], inner[1]
    if code == EXT_METHOD_SINGLE_ARG:
        allowed = isinstance(inner[3], str) and (module, name, inner[3]) in SAFE_MSGPACK_METHODS
    else:
        allowed = (module, name) in _READABLE
    return "" if allowed else f"names {module}.{name}, which is not on the list of what may be read"
