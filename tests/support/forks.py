"""Processes that are forked from one that has loaded the package: that is paid for once by a process of the tests."""

from __future__ import annotations

import multiprocessing
import os
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "groundgraph.cli.main",
        "groundgraph.cli.chat.terminal",
        "groundgraph.graph.ingest_documents",
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
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115


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
