"""Where in the configuration file a problem stands that was found after the file had been read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundgraph.core.errors import Problem
    from groundgraph.core.settings import Settings

_PART = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def placed(problem: Problem, origin: str) -> Problem:
    """`problem` with the file, line and column of its key in the file `origin`.

    Unchanged when it has a place already, names no key, or the key does not stand in the file.
    """
    from groundgraph.core.yaml_file import place_of, read_yaml

    if problem.file or not problem.key or not origin:
        return problem
    parts: list[str | int] = [int(number) if number else name for number, name in _PART.findall(problem.key)]
    found = place_of(read_yaml(Path(origin)), parts)
    return replace(problem, file=origin, line=found[0], column=found[1]) if found else problem


@contextmanager
def problems_placed(settings: Settings) -> Iterator[None]:
    """Gives the problems of a `ConfigurationError` raised inside their places in the file of `settings`."""
    from groundgraph.core.errors import ConfigurationError

    try:
        yield
    except ConfigurationError as error:
        error.problems = [placed(problem, settings.origin) for problem in error.problems]
        raise
