"""Names of a package that are loaded when they are first used."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

# Python refuses one of two threads that load a package and a module of it at the same time (`_DeadlockError`).
_loading = threading.RLock()


def lazy_names(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """What `package` has as `__all__`, `__getattr__` and `__dir__`.

    Args:
        package: its name.
        homes: by module of groundgraph the names that it holds.
    """
    modules = {name: module for module, names in homes.items() for name in names}
    inside = vars(sys.modules[package])

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        inside[name] = getattr(_loaded(f"groundgraph.{modules[name]}"), name)
        return inside[name]

    def names() -> list[str]:
        there = (name for name in inside if name.startswith("__") or f"{package}.{name}" in sys.modules)
        return sorted({*there, *modules})

    return sorted(modules), get, names


def _loaded(name: str) -> ModuleType:
    with _loading:
        # Modules are no garbage; looking for some among all objects takes longer than loading half of them.
        collects = gc.isenabled()
        gc.disable()
        try:
            return import_module(name)
        finally:
            if collects and not gc.get_freeze_count():
                # They are as old as can be; else they would be looked through three times before they are.
                gc.freeze()
                gc.unfreeze()
            if collects:
                gc.enable()
