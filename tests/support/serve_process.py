"""`groundgraph serve` in a process of its own, which can be killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ServeProcess:
    """A server that runs; `url` has no slash at its end."""

    url: str
    process: subprocess.Popen[bytes]

    def kill(self) -> None:
        """As the machine would end it: nothing is told, nothing is tidied up."""
        self.process.kill()
        self.process.wait()

    def cpu_seconds(self) -> float:
        """How long it worked so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def held_back(self) -> float:
        """How many seconds its threads were ready to work so far, and the machine had no core for them."""
        told = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(file.read_text().split()[1]) for file in told) / 1e9

    def memory(self) -> int:
        """Its resident memory in bytes."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def serve_process(folder: Path, *arguments: str) -> Iterator[ServeProcess]:
    """A server over the configuration in `folder`."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GROUNDGRAPH_")}
    command = [sys.executable, "-m", "groundgraph", "serve", "--port", "0", "--json", "--rate", "1000000", *arguments]
    with (folder / "serve.log").open("ab") as log:
        process = subprocess.Popen(command, cwd=folder, env=clean, stdout=subprocess.PIPE, stderr=log)
        try:
            told = b""
            while not told.rstrip().endswith(b"}"):
                line = process.stdout.readline()
                assert line, (folder / "serve.log").read_text()
                told += line
            yield ServeProcess(json.loads(told)["url"].rstrip("/"), process)
        finally:
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()
