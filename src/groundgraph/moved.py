"""Modules of 0.1 that scripts may import by name, and where they are now."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

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
