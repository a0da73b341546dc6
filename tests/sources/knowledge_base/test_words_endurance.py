"""Ten reader processes beside one that writes, replaces and removes. `make test-long` runs it for ten minutes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from endured_base import prepare
from filled_base import check_counts

SCRIPT = Path(__file__).parents[2] / "support" / "endured_base.py"
SECONDS = os.environ.get("GROUNDGRAPH_LOAD_SECONDS", "600")
READERS = 10


@pytest.mark.long
@pytest.mark.covers("fault 48", "fault 49")
def test_ten_readers_find_what_the_base_held_while_they_looked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = tmp_path / "kb.sqlite"
    prepare(base)
    processes = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), role, str(base), SECONDS, str(seed)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for seed, role in enumerate(["write", *["read"] * READERS])
    ]  # fmt: skip
    ended = [(process.communicate(), process.returncode) for process in processes]
    assert not any(said for (_, said), _ in ended), "\n".join(said[-3000:] for (_, said), _ in ended)
    assert [code for _, code in ended] == [0] * (READERS + 1)
    writer, *readers = [json.loads(told) for (told, _), _ in ended]
    looks, found, mapped = (sum(one[told] for one in readers) for told in ("looks", "found", "by_vectors"))
    held = max(one["memory"] for one in readers)
    with capsys.disabled():
        print(
            f"\n{writer['steps']} steps of the writer in {SECONDS} s; {looks} looks of {READERS} readers found {found} "
            f"documents, each look as the base was after one step, and {mapped} times every vector, mapped from files; "
            f"memory at the end {writer['memory'] / 1e6:.0f} MB, readers at most {held / 1e6:.0f} MB"
        )
    assert min(one["looks"] for one in readers) > 0
    assert mapped > 0
    check_counts(base)
