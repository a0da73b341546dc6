"""A YAML file as nodes that know their lines; nothing in it is ever made into an object.

PyYAML composes nodes in C, many times as fast as a reader that keeps comments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from groundgraph.core.errors import Problem

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_STANDARD = "tag:yaml.org,2002:"
_PLAIN_TAGS = frozenset(f"{_STANDARD}{kind}" for kind in ("str", "int", "float", "bool", "null", "timestamp"))
_TAGS = _PLAIN_TAGS | {f"{_STANDARD}map", f"{_STANDARD}seq"}
NULL, BOOLEAN, INTEGER = (f"{_STANDARD}{kind}" for kind in ("null", "bool", "int"))
# The composer in C goes down by recursion, and an overflow would end the process.
MAX_DEPTH = 50
_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")
# More digits fit into no checkpoint.
MAX_INTEGER = 1_000_000_000
# What aliases may add to a file when they are followed: nodes and characters.
ALIASED = 1024 * 1024


class FollowedTooFar(Exception):
    """The aliases of a file make much of little."""


class Problems:
    """Collects what is wrong in one file, with lines and columns from 1."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.found: list[Problem] = []
        self._left = ALIASED

    def allow(self, text: str) -> None:
        """`text` is read from now on. Without aliases its nodes and their characters are no more than its own."""
        self._left = len(text) + ALIASED

    def count(self, node: yaml.Node) -> None:
        """`node` is looked at.

        Raises:
            FollowedTooFar: too much was looked at.
        """
        self._left -= 1 + (len(node.value) if isinstance(node, yaml.ScalarNode) else 0)
        if self._left < 0:
            raise FollowedTooFar

    def note(self, node: yaml.Node | None, key: str, message: str) -> None:
        """Something is wrong at `node`, or with the file as a whole."""
        line, column = (node.start_mark.line + 1, node.start_mark.column + 1) if node else (1, 1)
        self.found.append(Problem(key, message, self.file, line, column))


def compose(text: str, problems: Problems) -> yaml.Node | None:
    """The root node of `text`; None when it is empty or no YAML, which is noted."""
    try:
        if _depth(text) > MAX_DEPTH:
            problems.note(None, "", f"is nested more than {MAX_DEPTH} levels deep")
            return None
        return yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark else _place(error, text)
        told = getattr(error, "problem", None) or str(error).splitlines()[0]
        problems.found.append(Problem("", f"is no YAML: {told}", problems.file, line, column))
        return None


def _place(error: yaml.YAMLError, text: str) -> tuple[int, int]:
    """The line and column of a character that may not stand in YAML, which the error tells as an offset."""
    at = getattr(error, "position", 0)
    # In C the offset is that of a byte.
    before = text.encode()[:at].decode(errors="ignore") if _LOADER is not yaml.SafeLoader else text[:at]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _depth(text: str) -> int:
    """How deeply the collections of `text` are nested, and no more than is needed to know that it is too deep."""
    deepest = depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        deepest = max(deepest, depth)
        if deepest > MAX_DEPTH:
            break
    return deepest


def has_plain_tag(node: yaml.Node, key: str, problems: Problems) -> bool:
    """Whether `node` is plain data; a tag that asks for an object is noted.

    Raises:
        FollowedTooFar: aliases make the file too large.
    """
    problems.count(node)
    if node.tag in _TAGS:
        return True
    problems.note(node, key, f"the tag {node.tag.replace(_STANDARD, '!!')} is not allowed; write plain values")
    return False


def items(node: yaml.Node, key: str, problems: Problems) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
    """Name, node of the name and node of the value of each entry of a mapping; whatever else it is, is noted."""
    if not has_plain_tag(node, key, problems):
        return
    if not isinstance(node, yaml.MappingNode):
        problems.note(node, key, "must be a mapping")
        return
    seen: set[str] = set()
    for name_node, value in node.value:
        name = text_of(name_node, key, problems)
        if name is None:
            continue
        if name in seen:
            problems.note(name_node, _below(key, name), "stands there twice")
            continue
        seen.add(name)
        yield name, name_node, value


def _below(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def text_of(node: yaml.Node, key: str, problems: Problems) -> str | None:
    """The text of a scalar as it was written, so that `no` and `1.10` stay what they are; None is noted."""
    if not has_plain_tag(node, key, problems):
        return None
    if not isinstance(node, yaml.ScalarNode) or node.tag == NULL or not node.value.strip():
        problems.note(node, key, "must be a text")
        return None
    return str(node.value).strip()


def integer_of(node: yaml.Node, key: str, problems: Problems) -> int | None:
    """The whole number that stands there; None is noted."""
    if has_plain_tag(node, key, problems):
        try:
            if node.tag == INTEGER and abs(number := int(node.value.replace("_", ""), 10)) <= MAX_INTEGER:
                return number
        except ValueError:
            pass
        problems.note(node, key, f"must be a whole number from -{MAX_INTEGER:_} to {MAX_INTEGER:_}")
    return None


def boolean_of(node: yaml.Node, key: str, problems: Problems) -> bool | None:
    """Whether `true` stands there; None, for what is neither that nor `false`, is noted."""
    if not has_plain_tag(node, key, problems):
        return None
    given = str(node.value).lower()
    if node.tag != BOOLEAN or given not in (*_TRUE, *_FALSE):
        problems.note(node, key, "must be true or false")
        return None
    return given in _TRUE
