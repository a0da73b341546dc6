"""Metadata of documents in a file beside them (K11).

A sidecar maps names and globs of files below its folder to fields::

    "*.md": {category: security}
    guides/intro.md: {category: introduction, date: 2026-01-05}

Every entry that fits a document counts, a later one over an earlier one, and the sidecar of an inner folder over that
of an outer one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.evidence import jsonable
from groundgraph.core.registry import nearest
from groundgraph.core.yaml_file import place_of, read_yaml


@dataclass(frozen=True)
class SetField:
    """A value that a file or a rule sets.

    Attributes:
        value: a JSON value.
        place: where it stands, for messages.
    """

    value: Any
    place: str


@dataclass(frozen=True)
class _Entry:
    glob: str
    fields: dict[str, SetField]
    place: str


class Sidecars:
    """The sidecars of the folders that one ingest reads; each is read once. Every method blocks.

    Args:
        file_name: how a sidecar is called; None when there are none.
        base_dir: documents below it look for sidecars in every folder up to it, others in their own folder.
    """

    def __init__(self, file_name: str | None, base_dir: Path) -> None:
        self._file_name = file_name
        self._base_dir = base_dir.absolute()
        self._read: dict[Path, tuple[_Entry, ...]] = {}
        self._used: set[tuple[Path, str]] = set()

    def fields(self, path: Path) -> dict[str, SetField]:
        """What the sidecars say about the file at `path`, which is absolute.

        Raises:
            ConfigurationError: one of them cannot be read; the problem names its line.
        """
        found: dict[str, SetField] = {}
        for folder in self._folders(path.parent):
            name = path.relative_to(folder).as_posix()
            for entry in self._entries(folder):
                if glob_matches(entry.glob, name):
                    self._used.add((folder, entry.glob))
                    found |= entry.fields
        return found

    def doubts(self, declared: Collection[str], folders: Sequence[Path]) -> list[tuple[Path, str]]:
        """What looks like a slip of the pen: the sidecar, and a sentence about it.

        Args:
            declared: the declared fields; one that is spelt almost like them is doubtful.
            folders: those of which all documents were read, so that an entry that fits none of them is doubtful.
        """
        found: list[tuple[Path, str]] = []
        for folder, entries in self._read.items():
            complete = any(folder.is_relative_to(whole) for whole in folders)
            for entry in entries:
                told = [] if (folder, entry.glob) in self._used or not complete else [_fits_nothing(entry)]
                told += [_misspelt(name, field, declared) for name, field in entry.fields.items()]
                found += [(folder / str(self._file_name), reason) for reason in told if reason]
        return found

    def _folders(self, innermost: Path) -> list[Path]:
        """The outermost first."""
        if self._file_name is None:
            return []
        if not innermost.is_relative_to(self._base_dir):
            return [innermost]
        inner = innermost.relative_to(self._base_dir).parts
        return [self._base_dir.joinpath(*inner[:depth]) for depth in range(len(inner) + 1)]

    def _entries(self, folder: Path) -> tuple[_Entry, ...]:
        if folder not in self._read:
            file = folder / str(self._file_name)
            # A link to a file that is gone is no file, and yet there is one to be read.
            there = file.is_file() or os.path.islink(file)
            self._read[folder] = tuple(_entries_of(file)) if there else ()
        return self._read[folder]


def _fits_nothing(entry: _Entry) -> str:
    return f"'{entry.glob}' ({entry.place}) fits no document that was read"


def _misspelt(name: str, field: SetField, declared: Collection[str]) -> str:
    hint = "" if name in (*declared, "title") else nearest(name, list(declared))
    return (
        f"the field '{name}' ({field.place}) is not declared, so nothing can be filtered by it.{hint}" if hint else ""
    )


def _entries_of(file: Path) -> Iterator[_Entry]:
    root = read_yaml(file)
    for glob, fields in root.items():
        line, column = place_of(root, [glob]) or (1, 1)
        if not isinstance(fields, dict):
            problem = "must map a name or a glob to its fields, such as `'*.md': {category: security}`"
            raise ConfigurationError([Problem(str(glob), problem, str(file), line, column)])
        set_fields = {str(name): _set_field(root, file, glob, name) for name in fields}
        yield _Entry(str(glob), set_fields, f"{file.name}:{line}")


def _set_field(root: Any, file: Path, glob: Any, name: Any) -> SetField:
    line, _ = place_of(root, [glob, name]) or (1, 1)
    return SetField(_plain(root[glob][name]), f"{file.name}:{line}")


def _plain(value: Any) -> Any:
    """A value of ruamel.yaml, which remembers how it was written, as JSON."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return jsonable(value)


def glob_matches(glob: str, name: str) -> bool:
    """Whether `name`, a path with `/`, fits `glob`: `*` and `?` within a folder, `**` across folders.

    A glob without `/` is compared with the last part of the name, as in `.gitignore`.
    """
    return _pattern(glob).fullmatch(name if "/" in glob else name.rpartition("/")[2]) is not None


@lru_cache(maxsize=1000)
def _pattern(glob: str) -> re.Pattern[str]:
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", glob.removeprefix("/"))
    return re.compile("".join(parts.get(piece) or re.escape(piece) for piece in pieces), re.DOTALL)
