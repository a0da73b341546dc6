"""A YAML file whose every key knows its line and column."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import ConstructorError, DuplicateKeyError, RoundTripConstructor
from ruamel.yaml.error import YAMLError

from groundgraph.core.errors import ConfigurationError, Problem

# Sections that may stand under another name.
_OTHER_NAMES: dict[str | int, tuple[str, ...]] = {"chains": ("bindings",)}
_REPEATED = re.compile(r'duplicate key "([^"]*)"')
_STANDARD_TAG = "tag:yaml.org,2002:"


class _TagRefused(ConstructorError):
    """A value carries a tag that asks for something other than plain data."""


class _PlainConstructor(RoundTripConstructor):
    """Builds plain values only; what ruamel does not know it would keep, tag aside, as if it were one."""

    def plain_text(self, node: Any) -> Any:
        return self.construct_scalar(node)

    def refuse_tag(self, node: Any) -> None:
        tag = str(node.tag).replace(_STANDARD_TAG, "!!")
        problem = f"the tag {tag} is not allowed; write plain values"
        raise _TagRefused(None, None, problem, node.start_mark)


_PlainConstructor.add_constructor(f"{_STANDARD_TAG}str", _PlainConstructor.plain_text)
_PlainConstructor.add_constructor(None, _PlainConstructor.refuse_tag)


def read_yaml(path: Path) -> CommentedMap:
    """The mapping in a YAML file, each key with its line and column.

    Raises:
        ConfigurationError: there is no such file, it is no YAML, or not a mapping.
    """
    yaml = YAML(typ="rt")
    yaml.Constructor = _PlainConstructor
    try:
        loaded = yaml.load(StringIO(path.read_text("utf-8")))
    except OSError as error:
        raise ConfigurationError([Problem("", f"cannot be read: {error.strerror}", str(path), 1, 1)]) from error
    except (YAMLError, UnicodeDecodeError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        problem = Problem("", _message(error), str(path), line, column)
        # Without its cause, whose text quotes the file and with it perhaps a secret.
        raise ConfigurationError([problem]) from None
    if loaded is None:
        return CommentedMap()
    if not isinstance(loaded, CommentedMap):
        raise ConfigurationError([Problem("", "must be a mapping of sections", str(path), 1, 1)])
    return loaded


def _message(error: Exception) -> str:
    """What is wrong, without the values that stand there."""
    if isinstance(error, UnicodeDecodeError):
        return f"is no YAML: it is not UTF-8 text, from byte {error.start} on"
    message = str(getattr(error, "problem", None) or "a value in it cannot be read")
    if isinstance(error, _TagRefused):
        return message
    repeated = _REPEATED.search(message) if isinstance(error, DuplicateKeyError) else None
    return f"is no YAML: the key '{repeated[1]}' stands there twice" if repeated else f"is no YAML: {message}"


def place_of(root: CommentedMap, location: Sequence[str | int]) -> tuple[int, int] | None:
    """Line and column, from 1, of the deepest key of `location` that stands in the file.

    Sections are looked for at the top level and below `reasoning:`, under each of their names; None when not even the
    first key is there.
    """
    names = (location[0], *_OTHER_NAMES.get(location[0], ())) if location else ()
    found = [_walk(node, (name, *location[1:])) for node in (root.get("reasoning"), root) for name in names]
    places = max(found, key=len, default=[])
    return places[-1] if places else None


def _walk(node: Any, location: Sequence[str | int]) -> list[tuple[int, int]]:
    places: list[tuple[int, int]] = []
    for part in location:
        place = _own_place(node, part)
        if place is None:
            break
        places.append(place)
        node = node[part]
    return places


def _own_place(node: Any, part: str | int) -> tuple[int, int] | None:
    try:
        if isinstance(node, CommentedMap) and part in node:
            line, column = node.lc.key(part)
        elif isinstance(node, CommentedSeq) and isinstance(part, int) and part < len(node):
            line, column = node.lc.item(part)
        else:
            return None
    except (KeyError, TypeError):
        # A key that a merge (`<<: *other`) brought in stands elsewhere.
        return None
    return line + 1, column + 1
