"""The folder of an example as a user gets it, also where somebody has run it."""

from __future__ import annotations

import shutil
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
# What running an example leaves behind.
_LEFT_BEHIND = (".groundgraph", ".langgraph_api", "__pycache__", "*.sqlite*")


def copy_example(name: str, target: Path, examples: Path = EXAMPLES) -> Path:
    """A copy of the example at `target`, without what a run of it left behind."""
    return Path(shutil.copytree(examples / name, target, ignore=shutil.ignore_patterns(*_LEFT_BEHIND)))
