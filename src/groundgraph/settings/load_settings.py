"""Reading settings: Python over environment over file over defaults, every problem with its place."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.registry import nearest
from groundgraph.core.secret_mask import masked, written_secrets
from groundgraph.settings.idle_settings import chain_conflicts, idle_settings
from groundgraph.settings.search import SourceEntry
from groundgraph.settings.section import Location
from groundgraph.settings.settings import INTERNAL, Settings

# Settings from the environment: `GROUNDGRAPH_SECTION__KEY`, and files of such names in a secrets folder.
#
# `GROUNDGRAPH_SOURCES__NAME__KEY` sets a key of the source called `NAME`, so that a password can stay out of the file
# that lists the sources. In all names small and capital letters are the same.

PREFIX = "GROUNDGRAPH_"
SECRETS_DIR = "GROUNDGRAPH_SECRETS_DIR"
_SOURCES = "sources__"
_REASONING = "reasoning__"
DEFAULT_NAME: str = SourceEntry.model_fields["name"].default


@dataclass(frozen=True)
class Environment:
    """What the environment sets.

    Attributes:
        values: sections and their keys.
        source_options: for each name of a source, as a variable spells it, the keys that are set for it.
        problems: variables that set nothing that there is.
    """

    values: dict[str, Any]
    source_options: dict[str, dict[str, Any]] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    def with_source_options(self, sources: list[Any], *, below: bool) -> list[Any]:
        """The entries of `sources:` with what the environment sets for them; an entry's own value wins if `below`."""
        return [self._with_options(entry, below) if isinstance(entry, Mapping) else entry for entry in sources]

    def _with_options(self, entry: Mapping[str, Any], below: bool) -> dict[str, Any]:
        options = self.source_options.get(spelled(_name(entry)), {})
        return merged_sections(options, entry) if below else merged_sections(entry, options)

    def without_source(self, sources: Any) -> list[str]:
        """The names for which the environment sets options although no source is called so."""
        entries = sources if isinstance(sources, list) else []
        there = {spelled(_name(entry)) for entry in entries if isinstance(entry, Mapping)}
        return sorted(set(self.source_options) - there)


def _name(entry: Mapping[str, Any]) -> str:
    return str(entry.get("name", DEFAULT_NAME))


def read_environment() -> Environment:
    """What the process's environment and the files in the folder `GROUNDGRAPH_SECRETS_DIR` set; a variable wins.

    Raises:
        ConfigurationError: a variable holds something that cannot be read, or there is no such folder.
    """
    variables = _at_the_top({**_secret_files(), **_own_variables()})
    if not variables:
        return Environment({})
    # Loaded only where a variable is set.
    from pydantic_settings import EnvSettingsSource, SettingsError

    source = EnvSettingsSource(Settings, env_prefix=PREFIX, env_nested_delimiter="__")  # type: ignore[arg-type]
    source.env_vars = {
        f"{PREFIX.lower()}{name}": value
        for name, value in variables.items()
        if name not in INTERNAL and not name.startswith(_SOURCES)
    }
    try:
        found = source()
    except SettingsError:
        # The cause quotes the value.
        raise ConfigurationError(_not_json(source)) from None
    return Environment(found, _source_options(variables), tuple(_unknown(variables)))


def _not_json(source: Any) -> list[Problem]:
    """The variables whose values are no JSON, where only JSON says what is meant; the library names their sections."""
    from pydantic_settings import SettingsError

    problems = []
    for name, value in list(source.env_vars.items()):
        source.env_vars = {name: value}
        try:
            source()
        except SettingsError:
            told = "a list or a whole section is written in JSON here, and this is none"
            problems.append(Problem(name.upper(), f"{told}; {name.upper()}__KEY sets a single key of a section"))
    return problems


def merged_sections(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Two mappings, section by section; a value of `above` wins."""
    merged = dict(below)
    for key, value in above.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merged_sections(merged[key], value) if both else value
    return merged


def variable_of(location: tuple[str | int, ...], source_name: str = "") -> str:
    """The variable that sets the key at `location`; `source_name` is that of the source when it is one's key."""
    parts = ("sources", source_name, *location[2:]) if location[0] == "sources" and source_name else location
    return PREFIX + "__".join(spelled(str(part)).upper() for part in parts)


def spelled(name: str) -> str:
    """`name` as a variable can spell it, in small letters."""
    return re.sub(r"\W", "_", name).lower()


def _own_variables() -> dict[str, str]:
    """The variables with the prefix, by the rest of their names in small letters."""
    return {name[len(PREFIX) :].lower(): value for name, value in os.environ.items() if name.upper().startswith(PREFIX)}


def _secret_files() -> dict[str, str]:
    folder = os.environ.get(SECRETS_DIR)
    if not folder:
        return {}
    try:
        own = [path for path in Path(folder).iterdir() if path.name.upper().startswith(PREFIX)]
        # A link to a secret that is gone is no file, and reading it says so.
        files = [path for path in own if path.is_file() or not path.exists()]
        return {path.name[len(PREFIX) :].lower(): path.read_text("utf-8").strip() for path in files}
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "a file in it is not UTF-8 text"
        raise ConfigurationError([Problem(SECRETS_DIR, f"the folder cannot be read: {reason}")]) from None


def _at_the_top(variables: Mapping[str, str]) -> dict[str, str]:
    """`variables` without `REASONING__`, below which a section may stand as it may in a file; the plain name wins."""
    below = {name: value for name, value in variables.items() if name.startswith(_REASONING)}
    plain = {name: value for name, value in variables.items() if name not in below}
    return {**{name.removeprefix(_REASONING): value for name, value in below.items()}, **plain}


def _source_options(variables: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    options: dict[str, dict[str, Any]] = {}
    for variable, value in variables.items():
        _, *names = variable.split("__") if variable.startswith(_SOURCES) else [""]
        if len(names) > 1:
            _set(options, names, value)
    return options


def _set(values: dict[str, Any], names: list[str], value: Any) -> None:
    *sections, last = names
    for name in sections:
        inner = values.setdefault(name, {})
        if not isinstance(inner, dict):
            inner = values[name] = {}
        values = inner
    values[last] = value


def _unknown(variables: Mapping[str, str]) -> list[Problem]:
    # Without the two underscores a variable may be meant for something else, GROUNDGRAPH_CONFIG for example.
    known = sorted(set(Settings.model_fields) - INTERNAL)
    sections = {variable.split("__")[0]: variable for variable in sorted(variables) if "__" in variable}
    return [
        Problem(PREFIX + variable.upper(), f"there is no section '{section}'.{nearest(section, known)}")
        for section, variable in sections.items()
        if section not in known
    ]


DEFAULT_FILE = "groundgraph.yaml"


def load_settings(source: str | Path | Mapping[str, Any] | None = None) -> Settings:
    """The settings that `source` describes.

    Args:
        source: a YAML file, a mapping, or None for the defaults. `GROUNDGRAPH_SECTION__KEY` in the environment
            overrides a file and the defaults, not a mapping. The keys may stand below `reasoning:`.

    Raises:
        ConfigurationError: a key is unknown, a value does not fit, or a secret stands in the file; lists all problems,
            those of a file with line and column. Or `source` is neither of the three.
    """
    path = Path(source) if isinstance(source, str | Path) else None
    given: Any = {} if source is None else source
    if path:
        # The reader that remembers lines is loaded for a file only: a process is to give its first answer soon.
        from groundgraph.settings.yaml_file import read_yaml

        given = read_yaml(path)
    if not isinstance(given, Mapping):
        message = f"a configuration is a file, a mapping or None, and this is a value of type {type(given).__name__}"
        raise ConfigurationError(message)
    return _Reading(given, path).settings()


GivenSettings = Settings | str | Path | Mapping[str, Any] | None
"""What a graph takes as its settings: some that are loaded, or what `load_settings` takes."""


def settings_of(given: GivenSettings) -> Settings:
    """`given`, loaded unless it is.

    Raises:
        ConfigurationError: as for `load_settings`.
    """
    return given if isinstance(given, Settings) else load_settings(given)


def find_settings_file(start: Path | None = None) -> Path | None:
    """The nearest `groundgraph.yaml` in `start` (default: here) or a folder above it."""
    folder = (start or Path.cwd()).resolve()
    return next((path for base in (folder, *folder.parents) if (path := base / DEFAULT_FILE).is_file()), None)


class _Reading:
    """One call of `load_settings`; collects problems, so that all are reported at once."""

    def __init__(self, given: Mapping[str, Any], path: Path | None) -> None:
        self._raw = given
        self._path = path
        self._problems: list[Problem] = []
        self._environment: Environment = read_environment()

    def settings(self) -> Settings:
        """The settings; raises `ConfigurationError` with every problem there is."""
        self._problems += self._environment.problems
        own = self._flattened(_plain(self._raw))
        if self._path:
            self._refuse_secrets(own)
        settings = self._validated(self._layered(own))
        for location, message in (*chain_conflicts(settings), *idle_settings(settings)) if settings else ():
            self._note(location, message, wanted=True)
        if settings is None or self._problems:
            raise ConfigurationError(merged_problems(self._problems))
        return settings

    def _flattened(self, given: dict[str, Any]) -> dict[str, Any]:
        """The sections below `reasoning:` moved to the top level, where they are read."""
        top = dict(given)
        nested = top.pop("reasoning", None) or {}
        if not isinstance(nested, dict):
            self._note(("reasoning",), "must be a mapping of sections")
            nested = {}
        strategy = nested.get("strategy", top.pop("strategy", "grounded"))
        if strategy != "grounded":
            self._note(("strategy",), f"'{strategy}' is not offered; the only one is 'grounded'")
        flat = merged_sections(top, {key: value for key, value in nested.items() if key != "strategy"})
        for key in sorted(INTERNAL & set(flat)):
            self._note((key,), "is not a setting")
        self._bind(flat)
        return {key: value for key, value in flat.items() if key not in INTERNAL}

    def _bind(self, flat: dict[str, Any]) -> None:
        """Move what stands in `bindings`, another name of `chains`, to where it is read."""
        bindings, chains = flat.pop("bindings", None) or {}, flat.get("chains") or {}
        if not isinstance(bindings, dict) or not isinstance(chains, dict):
            if bindings:
                self._note(("bindings",), "must be a mapping of kinds of data to their chains")
            return
        for kind in sorted(set(bindings) & set(chains)):
            self._note(("bindings", kind), f"'{kind}' stands in `chains` as well, which is the same section")
        if bindings:
            flat["chains"] = {**bindings, **chains}

    def _layered(self, own: dict[str, Any]) -> dict[str, Any]:
        values = self._environment.values
        layered = merged_sections(own, values) if self._path else merged_sections(values, own)
        if isinstance(layered.get("sources"), list):
            layered["sources"] = self._environment.with_source_options(layered["sources"], below=self._path is None)
        for name in self._environment.without_source(layered.get("sources")):
            self._problems.append(Problem(f"GROUNDGRAPH_SOURCES__{name.upper()}", "there is no source of this name"))
        return layered

    def _refuse_secrets(self, own: dict[str, Any]) -> None:
        for location in written_secrets(own):
            variable = variable_of(location, self._source_name(own, location))
            message = (
                f"a secret must not stand in this file. Set it as {variable} in the environment, or in a file of "
                "that name in the folder that GROUNDGRAPH_SECRETS_DIR names."
            )
            self._note(location, message)

    def _source_name(self, own: Mapping[str, Any], location: Location) -> str:
        if location[0] != "sources" or len(location) < 2 or not isinstance(location[1], int):
            return ""
        entry = own["sources"][location[1]]
        return str(entry.get("name", DEFAULT_NAME)) if isinstance(entry, Mapping) else ""

    def _validated(self, wanted: dict[str, Any]) -> Settings | None:
        place: dict[str, Any] = (
            {"base_dir": self._path.resolve().parent, "origin": str(self._path)} if self._path else {}
        )
        try:
            return Settings(**wanted, **place)
        except ValidationError as error:
            for item in error.errors():
                location = _written(item["loc"], wanted, missing=item["type"] == "missing")
                unknown = item["type"] == "extra_forbidden"
                self._note(location, unknown_key(location) if unknown else message_of(item, location), wanted=True)
        return None

    def _note(self, location: Location, message: str, *, wanted: bool = False) -> None:
        """A problem with the key at `location`; `wanted`: the value may come from the environment as well."""
        key = ".".join(map(str, location))
        if wanted and self._is_from_environment(location):
            self._problems.append(Problem(key, f"{message} (set by the variable {variable_of(location)})"))
            return
        if self._path is None:
            self._problems.append(Problem(key, message))
            return
        from groundgraph.settings.yaml_file import place_of

        line, column = place_of(self._raw, location) or (1, 1)  # type: ignore[arg-type]
        self._problems.append(Problem(key, message, str(self._path), line, column))

    def _is_from_environment(self, location: Location) -> bool:
        own = self._raw.get("reasoning")
        in_own = _depth(self._raw, location), _depth(own, location)
        depth = _depth(self._environment.values, location)
        return depth == len(location) and (self._path is not None or max(in_own) < depth)


def _depth(node: Any, location: Sequence[str | int]) -> int:
    """How many parts of `location` lead somewhere in `node`."""
    for depth, part in enumerate(location):
        inside = part in node if isinstance(node, Mapping) else isinstance(node, list) and isinstance(part, int)
        if not inside or (isinstance(node, list) and isinstance(part, int) and part >= len(node)):
            return depth
        node = node[part]
    return len(location)


def _written(location: Location, wanted: Mapping[str, Any], *, missing: bool) -> Location:
    """`location` without the parts that pydantic adds for the members of a union."""
    if missing:
        return location
    return location[: max(1, _depth(wanted, location))]


def _plain(value: Any) -> Any:
    """`value` as plain mappings and lists, whatever kinds of them were given; the names of keys are texts."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


# What is wrong with a value, in words, and without showing a secret.


def known_keys(section: Sequence[str | int]) -> list[str]:
    """The keys below `section`, a location such as `("sources", 0)`; `()` for the top level."""
    model: Any = Settings
    for part in section:
        if isinstance(part, str):
            found = getattr(model, "model_fields", {}).get(part)
            model = next(_models(found.annotation), None) if found else None
    return [name for name in getattr(model, "model_fields", {}) if name not in INTERNAL]


def unknown_key(location: Location) -> str:
    """The message for a key that nobody knows."""
    return f"is not a known key.{nearest(str(location[-1]), known_keys(location[:-1]))}"


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    """The model in an annotation such as `list[SourceEntry]` or `ModelSettings | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


# In place of pydantic's own words, which name classes.
_WRONG_KINDS = {
    "model_type": "must be a section, with its keys below it",
    "list_type": "must be a list",
    "missing": "is missing; it has no default",
}


def message_of(error: Any, location: Location) -> str:
    """The message for one of pydantic's errors, with the value that was given where it may be shown."""
    given = error["input"]
    if given is None and error["type"] != "value_error":
        return "is left empty; give it a value, or take the line out"
    message = _WRONG_KINDS.get(error["type"]) or str(error["msg"]).removeprefix("Value error, ")
    if error["type"] in ("value_error", "missing") or isinstance(given, dict | list):
        return message
    key = next((part for part in reversed(location) if isinstance(part, str)), "")
    shown = masked(str(given), key)
    return f"{message} (given: {shown if shown != str(given) else repr(given)})"


def merged_problems(problems: list[Problem]) -> list[Problem]:
    """`problems` in the order of the file, those of one key as one: each member of a union complains for itself."""
    by_key: dict[tuple[str, str, int, int], Problem] = {}
    for problem in problems:
        place = (problem.key, problem.file, problem.line, problem.column)
        known = by_key.get(place)
        if known and problem.message not in known.message:
            by_key[place] = replace(known, message=f"{known.message}; or: {problem.message}")
        else:
            by_key.setdefault(place, problem)
    return sorted(by_key.values(), key=lambda problem: (problem.line, problem.column))
