"""The fields that a user declares for a SQL source, in any of the forms that a configuration may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.schema import SourceSchema

Fields = dict[str, dict[str, Any]]


def declared_fields(
    schema: SourceSchema | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None, source: str
) -> tuple[Fields, list[str]]:
    """The declared fields by name, and those that are required.

    `schema` is a `SourceSchema`, a mapping with `fields`, or the fields themselves; fields are a mapping of names to
    specifications (or to a type), or a list of mappings with `name`.

    Raises:
        ConfigurationError: it is none of these.
    """
    if schema is None:
        return {}, []
    if isinstance(schema, SourceSchema):
        return dict(schema.fields), list(schema.required_fields)
    required: list[str] = []
    given: Any = schema
    if (
        isinstance(schema, Mapping)
        and "fields" in schema
        and set(schema) <= {"fields", "required_fields", "description"}
    ):
        given, required = schema["fields"] or {}, list(schema.get("required_fields") or ())
    if isinstance(given, Sequence) and all(isinstance(item, Mapping) and "name" in item for item in given):
        given = {item["name"]: {key: value for key, value in item.items() if key != "name"} for item in given}
    if isinstance(given, Mapping):
        given = {name: {"type": spec} if isinstance(spec, str) else spec for name, spec in given.items()}
        if all(isinstance(spec, Mapping) for spec in given.values()):
            return {str(name): dict(spec) for name, spec in given.items()}, required
    raise ConfigurationError(
        [Problem(f"{source}.schema", "must list fields, such as `fields: [{name: year, type: integer}]`")]
    )


def as_source_schema(source: str, fields: Fields, required: Sequence[str], description: str) -> SourceSchema:
    """The schema of the source.

    Raises:
        ConfigurationError: a type is unknown, or a required field is not declared.
    """
    return SourceSchema(source, fields, list(required), description)
