"""A `groundgraph` for the path of a script, forked from a process that has loaded it: it costs a tenth of a start."""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from forks import FORKS, Passed, placed

# Hands on what it is given and waits for how that ends; without a site it starts in a fiftieth of a second.
_COMMAND = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as asked:
    asked.connect({address!r})
    told = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode() + b"\\n"
    asked.sendall(told[socket.send_fds(asked, [told], [0, 1, 2]):])
    sys.exit(int(asked.recv(9)))
"""


@contextmanager
def forked_command() -> Iterator[str]:
    """A folder with the command."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as asked:
        address, command = f"{folder}/asked", Path(folder, "groundgraph")
        command.write_text(_COMMAND.format(python=sys.executable, address=address))
        command.chmod(0o755)
        asked.bind(address)
        asked.listen()
        thread = threading.Thread(target=_serve, args=(asked,))
        thread.start()
        try:
            yield folder
        finally:
            with suppress(OSError):
                asked.shutdown(socket.SHUT_RDWR)
            thread.join()


def _serve(asked: socket.socket) -> None:
    """One after another, as a script starts them, until the socket is shut; closed, it lets nobody wait."""
    with asked:
        while True:
            try:
                connection, _ = asked.accept()
            except OSError:
                return
            with connection:
                connection.sendall(str(_ended(connection)).encode())


def _ended(connection: socket.socket) -> int | None:
    """How the command that was asked for ends."""
    told, descriptors, *_ = socket.recv_fds(connection, 1 << 20, 3)
    with connection.makefile("rb") as more:
        arguments, cwd, environment = json.loads(told if told.endswith(b"\n") else told + more.readline())
    process = FORKS.Process(target=_run, args=(arguments, cwd, environment, *map(Passed, descriptors)))
    process.start()
    for fd in descriptors:
        os.close(fd)
    process.join()
    return process.exitcode


def _run(arguments: list[str], cwd: str, environment: dict[str, str], *descriptors: int) -> None:
    placed(cwd, environment, *descriptors)
    for fd in descriptors:
        os.close(fd)
    from groundgraph.cli.main import main

    main(arguments)
