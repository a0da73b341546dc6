"""A YAML file whose every key knows its line and column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from yaml import MappingNode, MarkedYAMLError, Node, SafeLoader, ScalarNode, SequenceNode, YAMLError
from yaml.constructor import ConstructorError

from groundgraph.core.errors import ConfigurationError, Problem

# Sections that may stand under another name.
_OTHER_NAMES: dict[str | int, tuple[str, ...]] = {"chains": ("bindings",)}
_STANDARD_TAG = "tag:yaml.org,2002:"
_NULL = f"{_STANDARD_TAG}null"
MAX_DEPTH = 50
# What aliases may add to a file when they are followed, in nodes.
ALIASED = 1024 * 1024

Place = tuple[int, int]
"""A line and a column, from 1."""


class PlacedMapping(dict[Any, Any]):
    """A mapping of a file; `places` has those of its own keys, not of what a merge (`<<: *other`) brought in."""

    def __init__(self, values: dict[Any, Any] | None = None, places: dict[str, Place] | None = None) -> None:
        super().__init__(values or {})
        self.places = places or {}


class PlacedList(list[Any]):
    """A list of a file; `places` has those of its items."""

    def __init__(self, items: list[Any], places: list[Place]) -> None:
        super().__init__(items)
        self.places = places


class _NotPlain(MarkedYAMLError):
    """What stands there is YAML, and no plain value."""


class _Loader(SafeLoader):
    """YAML 1.2 in place of PyYAML's 1.1, so that `off` and `no` are words; builds plain values only."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._places: dict[Node, dict[str, Place]] = {}

    def compose_mapping_node(self, anchor: Any) -> MappingNode:
        """Looks at the keys as they are written, before a merge brings in others."""
        node = super().compose_mapping_node(anchor)
        places = self._places[node] = {}
        for key, _ in node.value:
            if not isinstance(key, ScalarNode) or key.tag == _NULL:
                raise _NotPlain(None, None, "a key must be a text", key.start_mark)
            if key.value in places:
                raise _NotPlain(None, None, f"is no YAML: the key '{key.value}' stands there twice", key.start_mark)
            places[key.value] = _place(key)
        return node

    def mapping(self, node: MappingNode) -> PlacedMapping:
        return PlacedMapping(self.construct_mapping(node, deep=True), self._places[node])

    def sequence(self, node: SequenceNode) -> PlacedList:
        return PlacedList(self.construct_sequence(node, deep=True), [_place(item) for item in node.value])

    def boolean(self, node: ScalarNode) -> Any:
        return self._read(node, {"true": True, "false": False}.__getitem__)

    def integer(self, node: ScalarNode) -> Any:
        return self._read(node, lambda text: int(text, 0 if re.match("[-+]?0[box]", text) else 10))

    def _read(self, node: ScalarNode, read: Any) -> Any:
        try:
            return read(str(node.value).lower())
        except (KeyError, ValueError):
            tag = str(node.tag).replace(_STANDARD_TAG, "!!")
            raise ConstructorError(None, None, f"the value is no {tag}", node.start_mark) from None

    def refuse_tag(self, node: Node) -> None:
        tag = str(node.tag).replace(_STANDARD_TAG, "!!")
        raise _NotPlain(None, None, f"the tag {tag} is not allowed; write plain values", node.start_mark)


# What a plain scalar is, and the characters that it may begin with; everything else is text.
_DAY = r"\d{4}-\d\d-\d\d"
_TIME = r"(?:[Tt]|[ \t]+)\d{1,2}:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d{1,2}(?::?\d\d)?))?"
_FLOAT = r"[-+]?(?:\.[0-9]++|[0-9][0-9_]*+(?:\.[0-9_]*+)?)(?:[eE][-+]?[0-9]++)?"
_SCALARS = {
    "bool": ("true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": ("[-+]?(?:[0-9][0-9_]*|0o[0-7_]+|0x[0-9a-fA-F_]+|0b[01_]+)", "-+0123456789"),
    "float": (rf"{_FLOAT}|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+.0123456789"),
    "null": ("~|null|Null|NULL|", ["~", "n", "N", ""]),
    "timestamp": (f"{_DAY}(?:{_TIME})?", "0123456789"),
    "merge": ("<<", "<"),
}


def _prepare() -> None:
    for name, (pattern, first) in _SCALARS.items():
        _Loader.add_implicit_resolver(f"{_STANDARD_TAG}{name}", re.compile(f"\\A(?:{pattern})\\Z"), list(first))
    for tag in ("binary", "omap", "pairs", "set", "merge"):
        _Loader.add_constructor(f"{_STANDARD_TAG}{tag}", _Loader.refuse_tag)
    _Loader.add_constructor(None, _Loader.refuse_tag)
    _Loader.add_constructor(f"{_STANDARD_TAG}map", _Loader.mapping)
    _Loader.add_constructor(f"{_STANDARD_TAG}seq", _Loader.sequence)
    _Loader.add_constructor(f"{_STANDARD_TAG}bool", _Loader.boolean)
    _Loader.add_constructor(f"{_STANDARD_TAG}int", _Loader.integer)


_prepare()


class FieldLoader(SafeLoader):
    """What a document says of itself: a number that would be shown otherwise than it is written stays text, and so do
    `yes` and `no`; what a field is declared as decides."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012


def _prepare_fields() -> None:
    whole, fraction = "-?[1-9][0-9]{0,17}|0", r"-?(?:0|[1-9][0-9]{0,14})\.(?:0|[0-9]{0,14}[1-9])"
    own = {"int": (whole, "-0123456789"), "float": (fraction, "-0123456789")}
    for name, (pattern, first) in {**_SCALARS, **own}.items():
        FieldLoader.add_implicit_resolver(f"{_STANDARD_TAG}{name}", re.compile(f"\\A(?:{pattern})\\Z"), list(first))


_prepare_fields()


class _PlacedFieldLoader(_Loader):
    """The same in a file beside documents."""

    yaml_implicit_resolvers = FieldLoader.yaml_implicit_resolvers


def read_yaml(path: Path, *, fields: bool = False) -> PlacedMapping:
    """The mapping in a YAML file, each key with its line and column.

    Args:
        path: of the file.
        fields: whether it holds what documents say of themselves, as `FieldLoader` reads it.

    Raises:
        ConfigurationError: there is no such file, it is no YAML, or not a mapping.
    """
    try:
        loaded = _load(path.read_text("utf-8"), _PlacedFieldLoader if fields else _Loader)
    except FileNotFoundError as error:
        told = f"there is no such file. It was looked for in {path.absolute().parent}; write its path from here"
        if path.is_symlink():
            told = f"cannot be read: it is a link to what is not there, {path.readlink()}"
        raise ConfigurationError([Problem("", told, str(path))]) from error
    except OSError as error:
        raise ConfigurationError([Problem("", f"cannot be read: {error.strerror}", str(path))]) from error
    except (YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        # Without its cause, whose text quotes the file and with it perhaps a secret.
        raise ConfigurationError([Problem("", _message(error), str(path), line, column)]) from None
    if loaded is None:
        return PlacedMapping()
    if not isinstance(loaded, PlacedMapping):
        raise ConfigurationError([Problem("", "must be a mapping of sections", str(path), 1, 1)])
    return loaded


def _load(text: str, kind: type[_Loader]) -> Any:
    loader = kind(text)
    root = loader.get_single_node()
    if root is None:
        return None
    _refuse_growth(root, len(text) + ALIASED)
    return loader.construct_document(root)


def _refuse_growth(root: Node, allowed: int) -> None:
    """Refuse what is nested too deeply, or is much more than was written once its aliases are followed."""
    measured: dict[Node, tuple[int, int]] = {}

    def measure(node: Node, above: int) -> tuple[int, int]:
        if node not in measured:
            measured[node] = (0, MAX_DEPTH)
            parts = [measure(part, above + 1) for part in _parts(node)] if above < MAX_DEPTH else [(0, MAX_DEPTH)]
            size = 1 + sum(size for size, _ in parts)
            measured[node] = size, max((1 + depth for _, depth in parts), default=0)
            if size > allowed or measured[node][1] > MAX_DEPTH:
                told = "its aliases make much of little" if size > allowed else f"more than {MAX_DEPTH} levels deep"
                raise _NotPlain(None, None, f"is no configuration: {told}", node.start_mark)
        return measured[node]

    measure(root, 0)


def _parts(node: Node) -> Iterator[Node]:
    for item in node.value if isinstance(node, SequenceNode | MappingNode) else ():
        yield from item if isinstance(item, tuple) else (item,)


def _message(error: Exception) -> str:
    """What is wrong, without the values that stand there."""
    if isinstance(error, UnicodeDecodeError):
        return f"is no YAML: it is not UTF-8 text, from byte {error.start} on"
    if isinstance(error, RecursionError):
        return f"is no configuration: more than {MAX_DEPTH} levels deep"
    told = getattr(error, "problem", None) or getattr(error, "reason", None)
    if isinstance(error, _NotPlain):
        return str(told)
    return f"is no YAML: {told or 'a value in it cannot be read'}"


def _place(node: Node) -> Place:
    return node.start_mark.line + 1, node.start_mark.column + 1


def place_of(root: PlacedMapping, location: Sequence[str | int]) -> Place | None:
    """Line and column, from 1, of the deepest key of `location` that stands in the file.

    Sections are looked for at the top level and below `reasoning:`, under each of their names; None when not even the
    first key is there.
    """
    names = (location[0], *_OTHER_NAMES.get(location[0], ())) if location else ()
    found = [_walk(node, (name, *location[1:])) for node in (root.get("reasoning"), root) for name in names]
    places = max(found, key=len, default=[])
    return places[-1] if places else None


def _walk(node: Any, location: Sequence[str | int]) -> list[Place]:
    places: list[Place] = []
    for part in location:
        place = _own_place(node, part)
        if place is None:
            break
        places.append(place)
        node = node[part]
    return places


def _own_place(node: Any, part: str | int) -> Place | None:
    if isinstance(node, PlacedMapping) and part in node:
        return node.places.get(str(part))
    if isinstance(node, PlacedList) and isinstance(part, int) and part < len(node):
        return node.places[part]
    return None
