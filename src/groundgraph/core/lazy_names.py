"""Names that are loaded when they are first used, and where modules of 0.1 are now that scripts may import by name."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

HOMES = {
    "groundgraph.core.context": "groundgraph.settings.context",
    "groundgraph.core.load_settings": "groundgraph.settings.load_settings",
    "groundgraph.core.settings": "groundgraph.settings.settings",
    "groundgraph.core.text": "groundgraph.text.words",
    "groundgraph.graph.load_provenance": "groundgraph.graph.resume",
    "groundgraph.graph.query_bot": "groundgraph.bot.query_bot",
    "groundgraph.graph.query_bot_async": "groundgraph.bot.query_bot",
    "groundgraph.graph.tracing": "groundgraph.tracing.tracing",
    "groundgraph.graph.turn_tool": "groundgraph.graph.turn",
    "groundgraph.nodes.ingest.load_document": "groundgraph.ingest.load_document",
    "groundgraph.report.turn_text": "groundgraph.report.turn_page",
}


class MovedModules:
    """Finds a module of 0.1 under its name of then, as the very module that is there now; the last of the finders."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:  # noqa: ARG004 - as Python calls it
        """How `name` is loaded, if it moved."""
        return ModuleSpec(name, MovedModules()) if name in HOMES else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module that is there now."""
        module = import_module(HOMES[spec.name])
        self._own = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It ran when it was loaded; Python only has to be told again how."""
        module.__spec__ = self._own


# Names of a package that are loaded when they are first used.

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
