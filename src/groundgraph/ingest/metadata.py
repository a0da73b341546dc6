"""The metadata fields of a document: front matter over sidecar over path rules, with declared types."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from groundgraph.core.document import MARKDOWN, Document, Part
from groundgraph.core.errors import ConfigurationError, IngestError, Problem
from groundgraph.core.evidence import jsonable
from groundgraph.core.registry import nearest
from groundgraph.core.schema import typed_value
from groundgraph.ingest.load_text import front_matter
from groundgraph.settings.knowledge_base import KnowledgeBaseSettings, PathRule
from groundgraph.settings.yaml_file import place_of, read_yaml
from groundgraph.text.original import PLACES

# Metadata of documents in a file beside them.
#
# A sidecar maps names and globs of files below its folder to fields::
#
#     "*.md": {category: security}
#     guides/intro.md: {category: introduction, date: 2026-01-05}
#
# Every entry that fits a document counts, a later one over an earlier one, and the sidecar of an inner folder over that
# of an outer one.


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
        self._above: dict[Path, list[Path]] = {}

    def fields(self, path: Path) -> dict[str, SetField]:
        """What the sidecars say about the file at `path`, which is absolute.

        Raises:
            ConfigurationError: one of them cannot be read; the problem names its line.
        """
        found: dict[str, SetField] = {}
        if path.parent not in self._above:
            self._above[path.parent] = self._folders(path.parent)
        for folder in self._above[path.parent]:
            entries = self._entries(folder)
            name = path.relative_to(folder).as_posix() if entries else ""
            for entry in entries:
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
    root = read_yaml(file, fields=True)
    for glob, fields in root.items():
        line, column = place_of(root, [glob]) or (1, 1)
        if not isinstance(fields, dict):
            problem = "must map a name or a glob to its fields, such as `'*.md': {category: security}`"
            raise ConfigurationError([Problem(str(glob), problem, str(file), line, column)])
        set_fields = {str(name): _set_field(root, file, glob, name) for name in fields}
        yield _Entry(str(glob), set_fields, f"{file.name}:{line}")


def _set_field(root: Any, file: Path, glob: Any, name: Any) -> SetField:
    line, _ = place_of(root, [glob, name]) or (1, 1)
    return SetField(jsonable(root[glob][name]), f"{file.name}:{line}")


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


FieldSpecs = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class MetadataRules:
    """What the configuration says about the metadata of documents.

    Attributes:
        fields: the declared fields, as in `SourceSchema.fields`.
        schemas: by custom kind of data the fields of its own.
        rules: fields by the name of a document; a later rule wins.
        guarding: the fields by which filters keep documents away whatever is asked. Without its value, one that is to
            be kept away could pass (`not: secret`).
    """

    fields: FieldSpecs = field(default_factory=dict)
    schemas: Mapping[str, FieldSpecs] = field(default_factory=dict)
    rules: Sequence[PathRule] = ()
    guarding: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, settings: KnowledgeBaseSettings, fields: FieldSpecs | None = None, guarding: Iterable[str] = ()
    ) -> MetadataRules:
        """The rules of `settings`, with the further `fields` that the source itself declares."""
        schemas = {name: schema.fields for name, schema in settings.schemas.items()}
        return cls({**settings.fields, **(fields or {})}, schemas, settings.metadata.rules, frozenset(guarding))

    def declared(self, kind: str) -> FieldSpecs:
        """The declared fields of a kind of data."""
        return self.schemas.get(kind, self.fields)


def with_metadata(document: Document, rules: MetadataRules, sidecar: Mapping[str, SetField]) -> Document:
    """`document` with the fields that rules and `sidecar` add, each in its declared type.

    A value that its field does not allow is left out with a warning. Kept as it stands, it would be let through by
    filters that compare: as text, "soon" comes after every date.

    Raises:
        IngestError: that is a field that guards, or the front matter, which may hold one, cannot be read.
    """
    if rules.guarding:
        _check_front_matter(document)
    given = _given(document)
    found = {
        name: SetField(value, f"knowledge_base.metadata.rules, path '{rule.path}'")
        for rule in rules.rules
        if glob_matches(rule.path, document.name)
        for name, value in rule.set.items()
    }
    found |= sidecar
    found |= {name: SetField(value, "front matter") for name, value in given.items()}
    typed, warnings = _typed(found, rules.declared(document.kind))
    derived = {name: value for name, value in document.metadata.items() if name not in found}
    parts, more = _typed_parts(document.parts, rules.declared(document.kind))
    for name in rules.guarding:
        if refused := {**warnings, **more}.get(name):
            raise IngestError(f"{refused.rstrip('.')}. Filters keep documents away by this field. {_STAYS}")
    told = (*document.warnings, *warnings.values(), *more.values())
    return replace(document, metadata={**derived, **typed}, parts=parts, warnings=told)


_STAYS = "Until it is mended, what was taken in of it earlier stays; `groundgraph documents remove` takes it out."


def _check_front_matter(document: Document) -> None:
    try:
        if document.media_type == MARKDOWN:
            front_matter(document.text)
    except ValueError as error:
        raise IngestError(
            f"its front matter cannot be read ({error}), and filters keep documents away by fields. {_STAYS}"
        ) from None


def _given(document: Document) -> dict[str, Any]:
    """What the document itself says; the title that a loader made out of its text gives way to a sidecar's."""
    metadata = dict(document.metadata)
    if not (document.media_type == MARKDOWN and _titled(document)):
        metadata.pop("title", None)
    return metadata


def _titled(document: Document) -> bool:
    try:
        return "title" in front_matter(document.text)[0]
    except ValueError:
        return False


def _typed_parts(parts: Sequence[Part], specs: FieldSpecs) -> tuple[tuple[Part, ...], dict[str, str]]:
    """The parts, records for example, with the declared ones of their fields in their types; by field what was left
    out."""
    wrong: dict[str, list[str]] = {}
    typed = (_typed_part(part, specs, wrong) if specs.keys() & part.metadata else part for part in parts)
    return tuple(_bounded_part(part, specs, wrong) for part in typed), {
        name: f"the field '{name}' was left out in {len(reasons)} of its parts; the first: {reasons[0]}"
        for name, reasons in wrong.items()
    }


def _typed_part(part: Part, specs: FieldSpecs, wrong: dict[str, list[str]]) -> Part:
    metadata = dict(part.metadata)
    for name in specs.keys() & metadata:
        try:
            metadata[name] = None if metadata[name] is None else typed_value(specs[name], metadata[name])
        except ValueError as error:
            del metadata[name]
            wrong.setdefault(name, []).append(str(error))
    return replace(part, metadata=metadata)


# Each chunk of a part carries its fields. Carried whole, the text of a long record would be stored as often as it has
# chunks, which is the square of its length. What a chunk does not carry stands in the text of the part all the same.
MAX_VALUE, MAX_CARRIED = 2_000, 32_000
_BEGINNING = 100


def _bounded_part(part: Part, specs: FieldSpecs, wrong: dict[str, list[str]]) -> Part:
    """`part` with what its chunks can carry, the shortest fields first; of one that cannot, the beginning, unless it is
    declared: what filters compare is whole, or left out and told."""
    lengths = {name: len(name) + len(str(value)) for name, value in part.metadata.items()}
    if sum(lengths.values()) <= MAX_VALUE:
        return part
    room, carried = MAX_CARRIED, dict[str, Any]()
    for name in sorted(lengths, key=lambda name: (name not in PLACES, lengths[name])):
        value, length = part.metadata[name], lengths[name]
        if length > min(MAX_VALUE, room):
            if name in specs:
                wrong.setdefault(name, []).append(f"with {length:_} characters it is more than each chunk can carry")
                continue
            value, length = f"{_text_of(value)[:_BEGINNING]}…", len(name) + _BEGINNING
        if length <= min(MAX_VALUE, room):
            room, carried[name] = room - length, value
    return replace(part, metadata={name: carried[name] for name in part.metadata if name in carried})


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _typed(found: Mapping[str, SetField], specs: FieldSpecs) -> tuple[dict[str, Any], dict[str, str]]:
    values: dict[str, Any] = {}
    warnings: dict[str, str] = {}
    for name, entry in found.items():
        if name not in specs or entry.value is None:
            values[name] = entry.value
            continue
        try:
            values[name] = typed_value(specs[name], entry.value)
        except ValueError as error:
            warnings[name] = f"the field '{name}' was left out ({entry.place}): {error}"
    return values, warnings
