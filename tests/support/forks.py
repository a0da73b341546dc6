"""Processes that are forked from one that has loaded the package: that is paid for once by a process of the tests."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from multiprocessing.reduction import DupFd
from pathlib import Path
from types import ModuleType
from typing import Any

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "groundgraph.cli.main",
        "groundgraph.cli.chat.terminal",
        "groundgraph.graph.ingest",
        "groundgraph.graph.open_graph",
        "groundgraph.graph.turn",
        "groundgraph.sources.in_memory",
        "groundgraph.sources.knowledge_base",
        "groundgraph.testing.models",
        "langgraph.checkpoint.sqlite.aio",
        "langgraph.store.sqlite.aio",
    ]
)


def placed(cwd: str | Path, environment: Mapping[str, str], *descriptors: int) -> None:
    """Give this process a folder, an environment, and what it reads, prints and complains to."""
    for fd, given in enumerate(descriptors):
        os.dup2(given, fd)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    sys.stdin = open(0, encoding=encoding, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding=encoding, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding=encoding, errors="backslashreplace", closefd=False, buffering=1)  # noqa: SIM115


class Passed:
    """A file descriptor that the new process has too; there it is a number."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    def __reduce__(self) -> Any:
        return _detached, (DupFd(self.fd),)


def _detached(passed: Any) -> int:
    return int(passed.detach())


def without_rights() -> None:
    """Root may write to what is read-only; the process that calls this may not any more."""
    libc, drop_bounding, dac_override = ctypes.CDLL(None), 24, 1
    # What it starts loses the right by this, and it itself by what follows.
    libc.prctl(drop_bounding, dac_override, 0, 0, 0)
    version_3, held = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    libc.capget(version_3, held)
    for kind in range(3):
        held[kind] &= ~(1 << dac_override)
    assert libc.capset(version_3, held) == 0


def with_small_files() -> None:
    """Enough to open the files, and too little for a turn."""
    # A module that changed would be compiled into a file that is cut, and broken for whoever loads it next.
    sys.dont_write_bytecode = True
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))


def without_room() -> None:
    """Not even what SQLite keeps beside a file that it reads has room."""
    with_small_files()
    resource.setrlimit(resource.RLIMIT_FSIZE, (16_000, 16_000))


def run_command(
    folder: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    before: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    """What `groundgraph` with these arguments leaves behind in `folder`; `before` is called in its process first."""
    with tempfile.TemporaryDirectory() as own:
        out, err = Path(own) / "out", Path(own) / "err"
        given = dict(os.environ if environment is None else environment)
        process = FORKS.Process(target=_command, args=(folder, arguments, given, before, out, err))
        process.start()
        process.join()
        said = (path.read_text("utf-8") for path in (out, err))
        return subprocess.CompletedProcess(arguments, process.exitcode or 0, *said)


def _command(
    folder: Path,
    arguments: tuple[str, ...],
    environment: Mapping[str, str],
    before: Callable[[], None] | None,
    *printed: Path,
) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    placed(folder, environment, nothing, *(os.open(to, os.O_CREAT | os.O_WRONLY | os.O_APPEND) for to in printed))
    if before:
        before()
    from groundgraph.cli.main import main

    main(arguments)


def run_code(code: str, folder: Path) -> tuple[int | None, str]:
    """How `code` ends in a process of its own in `folder`, where warnings are errors, and what it prints."""
    printed = folder.with_name(f"{folder.name}.printed")
    process = FORKS.Process(target=_run, args=(code, folder, dict(os.environ), printed))
    process.start()
    process.join()
    return process.exitcode, printed.read_text("utf-8")


def _run(code: str, folder: Path, environment: Mapping[str, str], printed: Path) -> None:
    to = os.open(printed, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    placed(folder, environment, os.open(os.devnull, os.O_RDONLY), to, to)
    warnings.simplefilter("error")
    sys.modules["__main__"] = main = ModuleType("__main__")
    exec(compile(code, "<documentation>", "exec"), vars(main))
    sys.stdout.flush()
