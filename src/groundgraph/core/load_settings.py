"""Reading settings: Python over environment over file over defaults, every problem with its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_settings import EnvSettingsSource
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.registry import nearest
from groundgraph.core.settings import Settings

DEFAULT_FILE = "groundgraph.yaml"
_INTERNAL = {"base_dir", "origin"}


def load_settings(source: str | Path | Mapping[str, Any] | None = None) -> Settings:
    """The settings that `source` describes.

    Args:
        source: a YAML file, a mapping, or None for the defaults. `GROUNDGRAPH_SECTION__KEY` in the environment
            overrides a file and the defaults, not a mapping. The keys may stand below `reasoning:`.

    Raises:
        ConfigurationError: a key is unknown or a value does not fit; lists all problems, those of a file with line
            and column.
    """
    if isinstance(source, str | Path):
        return _validated(_merged(_flattened(read_yaml(Path(source))), _environment()), Path(source))
    return _validated(_merged(_environment(), _flattened(source or {})), None)


def find_settings_file(start: Path | None = None) -> Path | None:
    """The nearest `groundgraph.yaml` in `start` (default: here) or a folder above it."""
    folder = (start or Path.cwd()).resolve()
    return next((path for base in (folder, *folder.parents) if (path := base / DEFAULT_FILE).is_file()), None)


def read_yaml(path: Path) -> CommentedMap:
    """The mapping in a YAML file, each key with its line and column.

    Raises:
        ConfigurationError: there is no such file, it is no YAML, or not a mapping.
    """
    try:
        loaded = YAML(typ="rt").load(StringIO(path.read_text("utf-8")))
    except OSError as error:
        raise ConfigurationError([Problem("", f"cannot be read: {error.strerror}", str(path), 1, 1)]) from error
    except (YAMLError, UnicodeDecodeError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        message = getattr(error, "problem", None) or str(error)
        raise ConfigurationError([Problem("", f"is no YAML: {message}", str(path), line, column)]) from error
    if loaded is None:
        return CommentedMap()
    if not isinstance(loaded, CommentedMap):
        raise ConfigurationError([Problem("", "must be a mapping of sections", str(path), 1, 1)])
    return loaded


def _environment() -> dict[str, Any]:
    found = EnvSettingsSource(Settings)()
    return {key: value for key, value in found.items() if key not in _INTERNAL}


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Two mappings, section by section; a value of `above` wins."""
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merged(merged[key], value) if both else value
    return merged


def _flattened(given: Mapping[str, Any]) -> dict[str, Any]:
    """The sections below `reasoning:` moved to the top level, where they are read."""
    top = {key: value for key, value in given.items() if key != "reasoning"}
    nested = given.get("reasoning") or {}
    if not isinstance(nested, Mapping):
        raise ConfigurationError([Problem("reasoning", "must be a mapping of sections")])
    strategy = nested.get("strategy", top.pop("strategy", "grounded"))
    if strategy != "grounded":
        raise ConfigurationError([Problem("strategy", f"'{strategy}' is not offered; the only one is 'grounded'")])
    return _merged(top, {key: value for key, value in nested.items() if key != "strategy"})


def _validated(given: Mapping[str, Any], path: Path | None) -> Settings:
    place: dict[str, Any] = {"base_dir": path.resolve().parent, "origin": str(path)} if path else {}
    internal = [Problem(key, "is not a setting") for key in _INTERNAL & set(given)]
    if internal:
        raise ConfigurationError(internal)
    try:
        return Settings(**_plain(given), **place)
    except ValidationError as error:
        raw = read_yaml(path) if path else None
        raise ConfigurationError([_problem(item, raw, path) for item in error.errors()]) from None


def _plain(value: Any) -> Any:
    """`value` without ruamel's classes, which neither JSON nor msgpack writes."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    for kind in (bool, int, float, str):
        if isinstance(value, kind) and type(value) is not kind:
            return kind(value)
    return value


def _problem(error: Any, raw: CommentedMap | None, path: Path | None) -> Problem:
    keys = [str(part) for part in error["loc"]]
    keys = [key for key in keys if not key.startswith(("function-", "literal["))]
    message = error["msg"].removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        message = f"is not a known key.{nearest(keys[-1], _known_keys(keys[:-1]))}"
    elif error["type"] != "value_error":
        message = f"{message} (given: {error['input']!r})" if not isinstance(error["input"], dict) else message
    line, column = _place(raw, error["loc"])
    return Problem(".".join(keys), message, str(path) if path else "", line, column)


def _known_keys(section: Iterable[str]) -> list[str]:
    model: Any = Settings
    for key in section:
        field = model.model_fields.get(key) if hasattr(model, "model_fields") else None
        kinds = (field.annotation, *get_args(field.annotation)) if field else ()
        model = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
    return [name for name in getattr(model, "model_fields", {}) if name not in _INTERNAL]


def _place(raw: CommentedMap | None, location: tuple[int | str, ...]) -> tuple[int, int]:
    """Line and column of the deepest key of `location` that stands in the file, counted from 1."""
    if raw is None:
        return 0, 0
    node: Any = raw
    if location and location[0] not in raw and isinstance(raw.get("reasoning"), CommentedMap):
        node = raw["reasoning"]
    place = (1, 1)
    for part in location:
        if isinstance(node, CommentedMap) and part in node:
            line, column = node.lc.key(part)
        elif isinstance(node, CommentedSeq) and isinstance(part, int) and part < len(node):
            line, column = node.lc.item(part)
        else:
            break
        place, node = (line + 1, column + 1), node[part]
    return place
