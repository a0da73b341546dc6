"""The command line at a pseudo-terminal, forked from a process that has loaded it: that is paid for once in a file."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import termios
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forks import FORKS, Passed, placed
from pexpect.fdpexpect import fdspawn


class ForkedTerminal(fdspawn):  # type: ignore[misc]
    """What `pexpect.spawn` is, as far as a test of the command line needs it."""

    exitstatus: int | None = None
    signalstatus: int | None = None

    def __init__(self, arguments: list[str], cwd: Path, env: Mapping[str, str], size: tuple[int, int], **options: Any):
        own, its = pty.openpty()
        super().__init__(own, **options)
        self.setwinsize(*size)
        self.process = FORKS.Process(target=_run, args=(arguments, str(cwd), dict(env), Passed(its)))
        self.process.start()
        os.close(its)

    def setwinsize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self.child_fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def close(self, force: bool = False) -> None:
        """Waits for the process, or with `force` ends it."""
        if force:
            self.process.kill()
        self.process.join(self.timeout)
        code = self.process.exitcode
        assert code is not None, "it goes on"
        self.exitstatus, self.signalstatus = (code, None) if code >= 0 else (None, -code)
        if not self.closed:
            super().close()


def _run(arguments: list[str], cwd: str, env: dict[str, str], terminal: Any) -> None:
    """As a shell starts a program: leader of its session, at its terminal."""
    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    placed(cwd, env, terminal, terminal, terminal)
    os.close(terminal)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    from groundgraph.cli.main import main

    main(arguments)
