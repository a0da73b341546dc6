"""Ports for servers that are started by tests and benchmarks, and that may be ended and started again on the same one.

They lie below the range from which the system gives clients theirs, so no connection takes one while its server is
down. Each is claimed with a lock on a file, which lasts as long as this process: two processes that look for ports at
the same time, such as the workers of one run of the tests, never get the same one.
"""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

_LOWEST, _HIGHEST = 20_000, 32_000
# The system lets go of the locks when the process ends, however it ends: until then these files stay open.
_claims: list[int] = []


def free_ports(wanted: int) -> list[int]:
    """So many ports of loopback that nobody listens on and that no other caller of this got.

    Raises:
        RuntimeError: there are not so many.
    """
    found: list[int] = []
    for candidate in _candidates():
        if len(found) == wanted:
            break
        if _claimed(candidate) and _is_free(candidate):
            found.append(candidate)
    if len(found) < wanted:
        raise RuntimeError("there are no free ports")
    return found


def free_port() -> int:
    """One of them."""
    return free_ports(1)[0]


def _candidates() -> Iterator[int]:
    # Where each process begins makes no difference but for time: it seldom meets the claims of another.
    first = (os.getpid() * 97) % (_HIGHEST - _LOWEST)
    for step in range(_HIGHEST - _LOWEST):
        yield _LOWEST + (first + step) % (_HIGHEST - _LOWEST)


def _claimed(port: int) -> bool:
    """Whether the port is ours from now on; not again when it was before."""
    folder = Path(tempfile.gettempdir()) / f"groundgraph-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    claim = os.open(folder / str(port), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(claim)
        return False
    _claims.append(claim)
    return True


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            return False
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
