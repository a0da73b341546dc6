"""A process that answers for long does not grow (fault 78)."""

from __future__ import annotations

from pathlib import Path

import pytest
from run_apart import told_by


@pytest.mark.covers("fault 78")
@pytest.mark.parametrize(
    "turns", [pytest.param(400, marks=pytest.mark.slow), pytest.param(1000, marks=pytest.mark.long)]
)
def test_a_thousand_turns_grow_the_process_by_less_than_a_tenth(tmp_path: Path, turns: int) -> None:
    memory = told_by("many_turns.py", tmp_path, str(turns), timeout=900)
    assert memory["after"] < (1 + turns / 10_000) * memory["before"], memory
