"""The examples as a user has them: a copy of the folder, with its `run.py` loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from example_copy import copy_example, module_at

from groundgraph import Settings, load_settings


@dataclass(frozen=True)
class Example:
    """A copy of an example: its folder, its `run.py` as a module, its settings."""

    folder: Path
    run: Any

    def settings(self, **sections: Any) -> Settings:
        """What its configuration says, with `sections` of a test's own instead of the file's."""
        loaded = load_settings(self.folder / "groundgraph.yaml")
        return loaded.model_copy(update=sections)


@pytest.fixture
def example(tmp_path: Path) -> Callable[[str], Example]:
    def copied(name: str) -> Example:
        folder = copy_example(name, tmp_path / name)
        return Example(folder, module_at(folder / "run.py", f"example_{name}"))

    return copied
