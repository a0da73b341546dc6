"""A process that answers for long does not grow (fault 78)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parent.parent / "support"


@pytest.mark.covers("fault 78")
@pytest.mark.slow
def test_a_thousand_turns_grow_the_process_by_less_than_a_tenth(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "many_turns.py", str(tmp_path)],
        cwd=SUPPORT,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    memory = json.loads(run.stdout)
    assert memory["after"] < 1.1 * memory["before"], memory
