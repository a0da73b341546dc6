"""An error in a recorded run, and the error of a replay that stands for it."""

from __future__ import annotations

from asyncio import CancelledError
from typing import Any

from groundgraph.core import errors
from groundgraph.core.deadline import DeadlinePassed
from groundgraph.core.model_reply import is_transient, status_code


def recorded_error(error: BaseException) -> dict[str, Any]:
    """`error` as a recording has it; a cancellation is that of a limit that has passed."""
    if isinstance(error, CancelledError):
        return {"kind": "DeadlinePassed", "message": "", "status": None, "transient": False}
    return {
        "kind": type(error).__name__,
        "message": str(error),
        "status": status_code(error),
        "transient": is_transient(error),
    }


def replayed_error(recorded: dict[str, Any]) -> BaseException:
    """An error that groundgraph treats, and names, as it did the recorded one."""
    kind, message = recorded["kind"], recorded["message"]
    if kind == "DeadlinePassed":
        return DeadlinePassed()
    known = getattr(errors, kind, None)
    if isinstance(known, type) and issubclass(known, errors.SourceError | errors.ModelError):
        return known(message)
    base = ConnectionError if recorded["transient"] and recorded["status"] is None else Exception
    made: BaseException = type(kind, (base,), {"status_code": recorded["status"]})(message)
    return made
