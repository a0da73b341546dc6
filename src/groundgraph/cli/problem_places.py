"""Where in the configuration file a problem stands that was found after the file had been read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from groundgraph.core.errors import Problem
    from groundgraph.core.settings import Settings

_PART = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def placed(problem: Problem, origin: str) -> Problem:
    """`problem` with the file, line and column of its key in the file `origin`.

    Unchanged when it has a place already, names no key, or the key does not stand in the file.
    """
    from groundgraph.core.load_settings import read_yaml

    if problem.file or not problem.key or not origin:
        return problem
    root: Any = read_yaml(Path(origin))
    parts = [int(number) if number else name for number, name in _PART.findall(problem.key)]
    found = _place(root, parts) or _place(root.get("reasoning"), parts)
    return replace(problem, file=origin, line=found[0], column=found[1]) if found else problem


def _place(node: Any, parts: list[int | str]) -> tuple[int, int] | None:
    """Line and column, from 1, of the deepest of `parts` that stands below `node`; None when the first does not."""
    place: tuple[int, int] | None = None
    for part in parts:
        if isinstance(node, dict) and part in node:
            line, column = node.lc.key(part)  # type: ignore[attr-defined]
        elif isinstance(node, list) and isinstance(part, int) and part < len(node):
            line, column = node.lc.item(part)  # type: ignore[attr-defined]
        else:
            break
        place, node = (line + 1, column + 1), node[part]
    return place


@contextmanager
def problems_placed(settings: Settings) -> Iterator[None]:
    """Gives the problems of a `ConfigurationError` raised inside their places in the file of `settings`."""
    from groundgraph.core.errors import ConfigurationError

    try:
        yield
    except ConfigurationError as error:
        error.problems = [placed(problem, settings.origin) for problem in error.problems]
        raise
