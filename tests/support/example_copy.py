"""The folder of an example as a user gets it, also where somebody has run it."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
# What running an example leaves behind.
_LEFT_BEHIND = (".groundgraph", ".langgraph_api", "__pycache__", "*.sqlite*")


def copy_example(name: str, target: Path, examples: Path = EXAMPLES) -> Path:
    """A copy of the example at `target`, without what a run of it left behind."""
    return Path(shutil.copytree(examples / name, target, ignore=shutil.ignore_patterns(*_LEFT_BEHIND)))


def module_at(file: Path, name: str) -> ModuleType:
    """The script in `file`, run as a module of that name."""
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    # Data classes look for their module there.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
