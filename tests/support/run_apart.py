"""A script of this folder in a process of its own, which has loaded the package and may be killed in there."""

from __future__ import annotations

import json
import os
import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

from forks import FORKS, placed


def told_by(script: str, *arguments: str | Path, timeout: float = 240) -> Any:
    """The JSON that `script` prints.

    Raises:
        AssertionError: it failed; says how.
    """
    with tempfile.TemporaryDirectory() as own:
        out, err = Path(own) / "out", Path(own) / "err"
        process = FORKS.Process(target=_run, args=(script, tuple(map(str, arguments)), dict(os.environ), out, err))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
        assert process.exitcode == 0, err.read_text("utf-8")
        return json.loads(out.read_text("utf-8"))


def _run(script: str, arguments: tuple[str, ...], environment: dict[str, str], *printed: Path) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    written = [os.open(to, os.O_CREAT | os.O_WRONLY | os.O_APPEND) for to in printed]
    placed(Path(__file__).parent, environment, nothing, *written)
    sys.argv = [script, *arguments]
    runpy.run_path(script, run_name="__main__")
