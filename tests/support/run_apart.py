"""A script of this folder in a process of its own, which may be killed in there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def told_by(script: str, *arguments: str | Path, timeout: float = 240) -> Any:
    """The JSON that `script` prints.

    Raises:
        AssertionError: it failed; says how.
    """
    run = subprocess.run(
        [sys.executable, script, *map(str, arguments)],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)
