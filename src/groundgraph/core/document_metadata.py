"""The metadata fields of a document: front matter over sidecar over path rules, with declared types (K11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from groundgraph.core.document import MARKDOWN, Document, Part
from groundgraph.core.front_matter import front_matter
from groundgraph.core.settings import KnowledgeBaseSettings, PathRule
from groundgraph.core.sidecar import SetField, glob_matches
from groundgraph.core.typed_value import typed_value

FieldSpecs = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class MetadataRules:
    """What the configuration says about the metadata of documents.

    Attributes:
        fields: the declared fields, as in `SourceSchema.fields`.
        schemas: by custom kind of data the fields of its own.
        rules: fields by the name of a document; a later rule wins.
    """

    fields: FieldSpecs = field(default_factory=dict)
    schemas: Mapping[str, FieldSpecs] = field(default_factory=dict)
    rules: Sequence[PathRule] = ()

    @classmethod
    def of(cls, settings: KnowledgeBaseSettings, fields: FieldSpecs | None = None) -> MetadataRules:
        """The rules of `settings`, with the further `fields` that the source itself declares."""
        schemas = {name: schema.fields for name, schema in settings.schemas.items()}
        return cls({**settings.fields, **(fields or {})}, schemas, settings.metadata.rules)

    def declared(self, kind: str) -> FieldSpecs:
        """The declared fields of a kind of data."""
        return self.schemas.get(kind, self.fields)


def with_metadata(document: Document, rules: MetadataRules, sidecar: Mapping[str, SetField]) -> Document:
    """`document` with the fields that rules and `sidecar` add, each in its declared type.

    A value that its field does not allow is left out with a warning. Kept as it stands, it would be let through by
    filters that compare: as text, "soon" comes after every date.
    """
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
    metadata = {**derived, **typed}
    return replace(document, metadata=metadata, parts=parts, warnings=(*document.warnings, *warnings, *more))


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


def _typed_parts(parts: Sequence[Part], specs: FieldSpecs) -> tuple[tuple[Part, ...], list[str]]:
    """The parts, records for example, with the declared ones of their fields in their types."""
    wrong: dict[str, list[str]] = {}
    typed = tuple(_typed_part(part, specs, wrong) if specs.keys() & part.metadata else part for part in parts)
    return typed, [
        f"the field '{name}' was left out in {len(reasons)} of its parts; the first: {reasons[0]}"
        for name, reasons in wrong.items()
    ]


def _typed_part(part: Part, specs: FieldSpecs, wrong: dict[str, list[str]]) -> Part:
    metadata = dict(part.metadata)
    for name in specs.keys() & metadata:
        try:
            metadata[name] = None if metadata[name] is None else typed_value(specs[name], metadata[name])
        except ValueError as error:
            del metadata[name]
            wrong.setdefault(name, []).append(str(error))
    return replace(part, metadata=metadata)


def _typed(found: Mapping[str, SetField], specs: FieldSpecs) -> tuple[dict[str, Any], list[str]]:
    values: dict[str, Any] = {}
    warnings: list[str] = []
    for name, entry in found.items():
        if name not in specs or entry.value is None:
            values[name] = entry.value
            continue
        try:
            values[name] = typed_value(specs[name], entry.value)
        except ValueError as error:
            warnings.append(f"the field '{name}' was left out ({entry.place}): {error}")
    return values, warnings
