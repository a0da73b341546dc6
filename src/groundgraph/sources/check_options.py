"""Checking what a configuration says of a source: names that are not known, and values of another kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groundgraph.core.errors import ConfigurationError, Problem, refuse_any
from groundgraph.core.registry import nearest
from groundgraph.core.schema import ANNOTATION, FIELD_TYPES, SourceSchema


@dataclass(frozen=True)
class Kind:
    """A kind of value.

    Attributes:
        holds: whether a value is of the kind.
        told: what is said of one that is not.
    """

    holds: Callable[[Any], bool]
    told: str


def is_whole(value: Any) -> bool:
    """Whether `value` is a whole number; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether `value` is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


TEXT = Kind(lambda value: isinstance(value, str), "must be a text")
LIST = Kind(lambda value: isinstance(value, list | tuple), "must be a list")
MAPPING = Kind(lambda value: isinstance(value, Mapping), "must be a mapping")
WHOLE = Kind(lambda value: is_whole(value) and value >= 0, "must be a whole number, 0 or more")
COUNT = Kind(lambda value: is_whole(value) and value >= 1, "must be a number, 1 or more")
NUMBER = Kind(lambda value: is_number(value) and value >= 0, "must be a number, 0 or more")


def one_of(*known: str) -> Kind:
    """The kind whose values are `known`."""
    return Kind(lambda value: value in known, f"must be one of: {', '.join(known)}")


def unknown_names(given: Iterable[Any], known: Sequence[str], key: str, told: str) -> list[Problem]:
    """A problem for each of `given` that is not among `known`.

    Args:
        given: the names.
        known: those that there are.
        key: where they stand in the configuration; may be empty.
        told: what is said of one; `{name}` in it is its place.
    """
    prefix = f"{key}." if key else ""
    return [
        Problem(
            f"{prefix}{name}",
            f"{told.format(name=name)}.{nearest(str(name), list(known))} Known: {', '.join(known)}.",
        )
        for name in given
        if name not in known
    ]


def wrong_values(options: Mapping[str, Any], kinds: Mapping[str, Kind], key: str) -> list[Problem]:
    """A problem for each of `options` that is there and not of its kind; one without a kind may be anything."""
    return [
        Problem(f"{key}.{name}", kinds[name].told)
        for name, value in options.items()
        if name in kinds and value is not None and not kinds[name].holds(value)
    ]


def fields_by_name(given: Any) -> dict[str, dict[str, Any]] | None:
    """The specifications of fields by name; None for what is neither a mapping of names to mappings nor a list of
    mappings with `name`."""
    if _are_named(given):
        specifications = [dict(item) for item in given]
        given = {item.pop("name"): item for item in specifications}
    if not isinstance(given, Mapping) or not all(isinstance(item, Mapping) for item in given.values()):
        return None
    return {str(name): dict(item) for name, item in given.items()}


def _are_named(given: Any) -> bool:
    return isinstance(given, Sequence) and all(isinstance(item, Mapping) and "name" in item for item in given)


# What the specification of a field may say; `required` is of records alone, `property` of Weaviate.
_SPECIFICATION = ("type", "enum", "description", "required", "property", ANNOTATION)
_SCHEMA_KEYS = {"fields", "required_fields", "description"}


def field_problems(fields: Mapping[str, Mapping[str, Any]], key: str) -> list[Problem]:
    """What is wrong with the specifications of the fields that stand at `key`."""
    problems: list[Problem] = []
    for name, spec in fields.items():
        problems += unknown_names(spec, _SPECIFICATION, f"{key}.{name}", "a field has no '{name}'")
        if (kind := spec.get("type", "string")) not in FIELD_TYPES:
            told = f"field type '{kind}' is not one of {', '.join(FIELD_TYPES)}"
            problems.append(Problem(f"{key}.{name}.type", told))
    return problems


def declared_fields(schema: Any, key: str) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The fields by name that a user declares for a source, and those that are required.

    Args:
        schema: a `SourceSchema`, a mapping with `fields`, or the fields themselves; fields are a mapping of names to
            specifications (or to a type), or a list of mappings with `name`. None declares nothing.
        key: where it stands in the configuration.

    Raises:
        ConfigurationError: it is none of these, or a specification has an unknown key or type.
    """
    if schema is None:
        return {}, []
    if isinstance(schema, SourceSchema):
        return dict(schema.fields), list(schema.required_fields)
    given: Any = schema
    required: Any = ()
    if _is_schema(given):
        given, required, key = given["fields"] or {}, given.get("required_fields") or (), f"{key}.fields"
    if isinstance(given, Mapping):
        given = {name: {"type": item} if isinstance(item, str) else item for name, item in given.items()}
    fields = fields_by_name(given)
    if fields is None or not LIST.holds(required):
        told = "must list fields, such as `fields: [{name: year, type: integer}]`"
        raise ConfigurationError([Problem(key, told if fields is None else "`required_fields` is a list of names")])
    refuse_any(field_problems(fields, key))
    return fields, list(required)


def _is_schema(given: Any) -> bool:
    """Whether it is a mapping with `fields`, and not the fields themselves."""
    return isinstance(given, Mapping) and "fields" in given and set(given) <= _SCHEMA_KEYS
