"""What settings that cannot be loaded are refused with."""

from __future__ import annotations

from typing import Any

import pytest

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.settings.load_settings import load_settings


def problems(source: Any = None) -> list[Problem]:
    """Every problem that loading `source` is refused with."""
    with pytest.raises(ConfigurationError) as caught:
        load_settings(source)
    return list(caught.value.problems)


def problem(source: Any) -> Problem:
    """The only one."""
    [found] = problems(source)
    return found
