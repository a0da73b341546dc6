"""Reading the YAML files that groundgraph ships, with libyaml where PyYAML was built with it (ten times as fast)."""

from __future__ import annotations

from typing import Any

import yaml

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_data(text: str) -> dict[str, Any]:
    """The mapping that `text`, a file of groundgraph's own, holds."""
    data: dict[str, Any] = yaml.load(text, Loader=_LOADER)
    return data
