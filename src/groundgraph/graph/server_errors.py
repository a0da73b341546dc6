"""What goes wrong with the server behind checkpoints and store, as errors of ours."""

from __future__ import annotations

import sys

from groundgraph.core.errors import GroundGraphError, StorageLocked, StorageUnavailable
from groundgraph.core.secret_mask import mask
from groundgraph.graph.sqlite_errors import WRITTEN_IS_SAFE

_LOCKED = "55P03"
_NO_ROOM = "53"
_DISK_FULL = "53100"
_READ_ONLY = "25006"
_SERVER = "PostgreSQL, which keeps the threads or the evidence of this graph,"


def server_error(error: BaseException) -> GroundGraphError | None:
    """The typed error for an error of psycopg that the server or the way to it caused; None for any other error."""
    # Not imported for this: an error of psycopg only comes when it is loaded.
    psycopg = sys.modules.get("psycopg")
    if psycopg is None or not isinstance(error, psycopg.Error):
        return None
    state = error.sqlstate or ""
    # psycopg takes this one for an internal error.
    if state != _READ_ONLY and not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return None
    if state == _LOCKED:
        return StorageLocked(
            "Another session kept a table of this graph locked for longer than five seconds. Nothing was lost: ask "
            "again."
        )
    reason = " ".join(mask(str(error)).split())
    if state == _READ_ONLY:
        # LangGraph's store writes when it reads, so records cannot be read meanwhile; states can.
        return StorageUnavailable(
            f"{_SERVER} takes no writes: it is a standby, or read-only by a setting ({reason}). What was written "
            "before is safe: name the server that takes writes (`target_session_attrs=read-write` in the url "
            "finds it among several), or end `default_transaction_read_only`, and ask again."
        )
    if state.startswith(_NO_ROOM):
        lacking = "the disk is full" if state == _DISK_FULL else "memory, connections or another limit are used up"
        return StorageUnavailable(
            f"{_SERVER} has no room left: {lacking} ({reason}). {WRITTEN_IS_SAFE}: make room, and ask again."
        )
    return StorageUnavailable(
        f"{_SERVER} does not answer: {reason}. What was written before is safe: ask again, or "
        "resume the turn, when the server is back."
    )
