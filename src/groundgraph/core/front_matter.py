"""The YAML block between `---` lines at the top of a Markdown file."""

from __future__ import annotations

import re
from typing import Any

import yaml

from groundgraph.core.evidence import jsonable

_FRONT_MATTER = re.compile(r"---[ \t]*\n(?P<yaml>.*?\n)??(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
MAX_CHARS = 65_536
# Each level costs the parser time for all that is inside it.
MAX_DEPTH = 50


def front_matter(text: str) -> tuple[dict[str, Any], int]:
    """The fields of the front matter as JSON values, and the offset behind it; `({}, 0)` when there is none.

    Raises:
        ValueError: there is such a block, but it is no YAML mapping, has aliases (which can grow without bound) or
            tags of Python, is nested too deeply, or longer than `MAX_CHARS`.
    """
    found = _FRONT_MATTER.match(text)
    if found is None:
        return {}, 0
    source = found["yaml"] or ""
    if len(source) > MAX_CHARS:
        raise ValueError(f"longer than {MAX_CHARS} characters")
    fields = _load(source)
    if fields is None:
        return {}, found.end()
    if not isinstance(fields, dict):
        raise ValueError("not a mapping of fields")
    values: dict[str, Any] = jsonable(fields)
    return values, found.end()


def _load(source: str) -> Any:
    try:
        _refuse_growth(source)
        return yaml.safe_load(source)
    except yaml.constructor.ConstructorError as error:
        raise ValueError(" ".join(str(error.problem).split())) from None
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None


def _refuse_growth(source: str) -> None:
    depth = 0
    for event in yaml.parse(source):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("it uses aliases")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
