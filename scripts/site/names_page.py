"""The reference of Python: the public names of each package, from their docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from importlib import import_module

from pydantic import BaseModel
from typing_extensions import is_typeddict

INTRODUCTION = """# Python

The public names, with their types and what their docstrings say. Everything else may change without notice.
[From Python](../python.md) shows them at work; [the errors](#errors) are all of one class.
"""
PACKAGES = {
    "groundgraph": "The package itself. `groundgraph.sources` has the same classes of sources.",
    "groundgraph.testing": "Stand-ins and kits for your own tests, as [Testing](../testing.md) shows them.",
    "groundgraph.core.errors": "Each says what was wrong, where, and what to do.",
}


def names_page() -> str:
    """All public names, as Markdown."""
    parts = [INTRODUCTION]
    told: set[object] = set()
    for package, about in PACKAGES.items():
        parts.append(f"## {'Errors' if package.endswith('errors') else package}\n\n{about}\n")
        for name, value in _public(package):
            if value not in told:
                told.add(value)
                parts += [f"### {name}\n", "```{eval-rst}", *_directive(package, name, value), "```\n"]
    return "\n".join(parts)


def _public(package: str) -> Iterable[tuple[str, object]]:
    module = import_module(package)
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == package]
    names = getattr(module, "__all__", None) or sorted(own)
    return [(name, getattr(module, name)) for name in names if not name.startswith("_")]


def _directive(package: str, name: str, value: object) -> list[str]:
    kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
    kind = "exception" if inspect.isclass(value) and issubclass(value, BaseException) else kind
    # The fields of what a configuration holds stand in the reference of settings.
    members = kind == "class" and not issubclass(value, BaseModel)  # type: ignore[arg-type]
    lines = [f".. auto{kind}:: {package}.{name}", *(["   :members:"] if members or kind == "exception" else [])]
    # The keys of a mapping have types and no docstrings of their own.
    return [*lines, "   :undoc-members:"] if is_typeddict(value) else lines
