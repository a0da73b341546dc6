"""The fields by which a source can be filtered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from groundgraph.core.errors import ConfigurationError, Problem

FIELD_TYPES = ("string", "text", "integer", "number", "boolean", "date", "datetime", "array")


@dataclass(frozen=True)
class SourceSchema:
    """The fields that a source declares for filters.

    Attributes:
        source_name: the source that declares them.
        fields: by field name, a mapping with `type` (one of `FIELD_TYPES`, default `string`), optionally `enum`
            (the allowed values) and `description`.
        required_fields: fields without a condition on which the source must not be searched.
        description: what the source holds, in a sentence.

    Raises:
        ConfigurationError: a type is unknown, or a required field is not declared.
    """

    source_name: str
    fields: dict[str, dict[str, Any]] = field(default_factory=dict)
    required_fields: list[str] = field(default_factory=list)
    description: str = ""

    def __post_init__(self) -> None:
        problems = [
            Problem(f"{self.source_name}.{name}", f"field type '{spec['type']}' is not one of {FIELD_TYPES}")
            for name, spec in self.fields.items()
            if spec.get("type", "string") not in FIELD_TYPES
        ]
        problems += [
            Problem(f"{self.source_name}.{name}", "is required but not among the declared fields")
            for name in self.required_fields
            if name not in self.fields
        ]
        if problems:
            raise ConfigurationError(problems)
