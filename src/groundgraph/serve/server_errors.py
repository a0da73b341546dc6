"""What a LangGraph Server refuses, as errors of ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import httpx

from groundgraph.core.errors import GroundGraphError, InputInvalid, ScopeMissing, StorageUnavailable, ThreadBusy
from groundgraph.serve.conversations import NotFound

_NO_THREAD = "There is no such conversation."
_STATUS: Mapping[int, GroundGraphError] = {
    401: ScopeMissing("The server does not know you any more. Sign in again."),
    403: ScopeMissing("The server does not let you do this."),
    404: NotFound(_NO_THREAD),
    409: ThreadBusy("Another turn is under way in this conversation. Wait until it has ended."),
}


@contextmanager
def told_as_ours() -> Iterator[None]:
    """Within it, what the server refuses is an error of ours.

    Raises:
        GroundGraphError: it refuses.
    """
    try:
        yield
    except httpx.HTTPStatusError as error:
        status = error.response.status_code
        if status in _STATUS:
            raise _STATUS[status] from error
        raise InputInvalid(f"The server refuses this ({status}).") if status < 500 else _down(error) from error
    except httpx.TransportError as error:
        raise _down(error) from error


def _down(error: Exception) -> StorageUnavailable:
    return StorageUnavailable(f"The server does not answer ({type(error).__name__}). Ask again later.")
