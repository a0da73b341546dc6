"""Settings from the environment: `GROUNDGRAPH_SECTION__KEY`, and files of such names in a secrets folder.

`GROUNDGRAPH_SOURCES__NAME__KEY` sets a key of the source called `NAME`, so that a password can stay out of the file
that lists the sources. In all names small and capital letters are the same.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.registry import nearest
from groundgraph.core.settings import INTERNAL, Settings, SourceEntry

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
    # Loaded only where a variable is set (L10).
    from pydantic_settings import EnvSettingsSource, SettingsError

    source = EnvSettingsSource(Settings, env_prefix=PREFIX, env_nested_delimiter="__")  # type: ignore[arg-type]
    source.env_vars = {
        f"{PREFIX.lower()}{name}": value
        for name, value in variables.items()
        if name not in INTERNAL and not name.startswith(_SOURCES)
    }
    try:
        found = source()
    except SettingsError as error:
        # The cause quotes the value.
        raise ConfigurationError([Problem("", f"{error}; lists and whole sections are written in JSON")]) from None
    return Environment(found, _source_options(variables), tuple(_unknown(variables)))


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
