"""A file of settings, and what is wrong with one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def file(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a text as `groundgraph.yaml`."""

    def write(text: str) -> Path:
        path = tmp_path / "groundgraph.yaml"
        path.write_text(text, "utf-8")
        return path

    return write
