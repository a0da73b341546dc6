"""The fields by which a source can be filtered, what a field says of extraction, and values brought to its type."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from groundgraph.core.errors import ConfigurationError, Problem, refuse_any
from groundgraph.core.registry import nearest

# Bringing a value that someone wrote into a file or a record to the type that its field declares.

# YAML once took them all for true and false.
_SWITCHES = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False}


def typed_value(spec: Mapping[str, Any], value: Any) -> Any:
    """`value` as a field with `spec` holds it: one JSON value, or a list of them when `value` is a list.

    `spec` is that of `SourceSchema.fields`. Dates become ISO strings, a number in a string field becomes text, and text
    that spells a number becomes one.

    Raises:
        ValueError: it is no value of the type, or not one of `enum`; the message says so without naming the field.
    """
    kind = str(spec.get("type", "string"))
    if isinstance(value, list | tuple):
        return [_checked(spec, kind, item) for item in value]
    typed = _checked(spec, kind, value)
    return [typed] if kind == "array" else typed


def _checked(spec: Mapping[str, Any], kind: str, value: Any) -> Any:
    typed = _READERS[kind](value)
    if typed is None:
        raise ValueError(f"{value!r} is not a value of type {kind}")
    allowed = spec.get("enum")
    if allowed is not None and typed not in allowed:
        known = [str(item) for item in allowed]
        raise ValueError(f"{value!r} is not an allowed value.{nearest(str(value), known)} Allowed: {', '.join(known)}.")
    return typed


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else _day_or_time(value)


def _day_or_time(value: Any) -> str | None:
    return value.isoformat() if isinstance(value, date) else None


def _scalar(value: Any) -> Any:
    return value if isinstance(value, str | int | float) else _day_or_time(value)


def _integer(value: Any) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        return int(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _number(value: Any) -> float | int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        number = float(value) if isinstance(value, str | float) else math.nan
    except ValueError:
        return None
    # What is no number, or an endless one, compares with nothing, and JSON does not hold it.
    return number if math.isfinite(number) else None


def _switch(value: Any) -> bool | None:
    return value if isinstance(value, bool) else _SWITCHES.get(str(value).strip().lower())


def iso_form(value: Any) -> str | None:
    """A day, or a day with a time, in the one form that compares as text; None for anything else."""
    if isinstance(value, date):
        return value.isoformat()
    for read in (date.fromisoformat, datetime.fromisoformat):
        try:
            return read(value).isoformat()
        except (TypeError, ValueError):
            continue
    return None


_READERS: dict[str, Callable[[Any], Any]] = {
    "string": _text,
    "text": _text,
    "integer": _integer,
    "number": _number,
    "boolean": _switch,
    "date": iso_form,
    "datetime": iso_form,
    "array": _scalar,
}


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
        unread: why the source could not be asked which fields it has, so that those of the configuration are here
            alone; empty when it could.

    Raises:
        ConfigurationError: a type is unknown, or a required field is not declared.
    """

    source_name: str
    fields: dict[str, dict[str, Any]] = field(default_factory=dict)
    required_fields: list[str] = field(default_factory=list)
    description: str = ""
    unread: str = field(default="", kw_only=True)

    def lacks(self, name: str) -> str:
        """That the source has no field `name`, in a sentence; or that nobody knows, since it could not be asked."""
        known = sorted(self.fields)
        if self.unread:
            return f"Whether the source '{self.source_name}' has a field '{name}' is not known: {self.unread}"
        told = f"The source '{self.source_name}' has no field '{name}' to filter on.{nearest(name, known)}"
        return f"{told} Declared: {', '.join(known) or 'none'}."

    def __post_init__(self) -> None:
        if not isinstance(self.fields, Mapping) or not all(isinstance(spec, Mapping) for spec in self.fields.values()):
            told = 'fields are a mapping of names to specifications, such as {"floor": {"type": "integer"}}'
            raise ConfigurationError([Problem(f"{self.source_name}.fields", told)])
        problems = [
            Problem(f"{self.source_name}.{name}", f"field type '{spec['type']}' is not one of {', '.join(FIELD_TYPES)}")
            for name, spec in self.fields.items()
            if spec.get("type", "string") not in FIELD_TYPES
        ]
        problems += [
            Problem(f"{self.source_name}.{name}", "is required but not among the declared fields")
            for name in self.required_fields
            if name not in self.fields
        ]
        refuse_any(problems)


# What an `x-extraction` annotation says about one field of an extraction.

ANNOTATION = "x-extraction"


class ExtractionAnnotation(BaseModel):
    """How much of a value must stand in the user's own words before it is believed.

    Attributes:
        grounding: `auto` goes by the field: a cue for `scope` and `output_style`, the value itself at word boundaries
            for one of an enumeration, a share of its words for any other text, the number, the date, a word of the
            field's name or description for yes and no. `exact` asks for the value itself, `fuzzy` for one of its
            words, also when it is misspelt, `skip` for nothing.
        overlap_threshold: the share of a text's words that the message must hold, from 0 to 1.
        cues: for each value, phrases that stand for it as well, for example in another language.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    grounding: Literal["auto", "exact", "fuzzy", "skip"] = Field(
        "auto", description="what must stand in the message: by the kind of field, the value, a word of it, or nothing"
    )
    overlap_threshold: float = Field(0.5, gt=0, le=1, description="the share of a text's words that must stand there")
    cues: dict[str, list[str]] = Field({}, description="phrases that stand for a value as well, by value")


def annotations_of(schema: SourceSchema) -> dict[str, ExtractionAnnotation]:
    """The annotations of all fields that `schema` declares.

    Raises:
        ConfigurationError: an annotation has an unknown key or a bad value.
    """
    return {name: annotation_of(spec, f"{schema.source_name}.{name}") for name, spec in schema.fields.items()}


def annotation_of(spec: Mapping[str, Any], key: str) -> ExtractionAnnotation:
    """The annotation in the specification of one field; `key` names the field in messages.

    Raises:
        ConfigurationError: see `annotations_of`.
    """
    given = spec.get(ANNOTATION)
    if not given:
        return ExtractionAnnotation()
    try:
        return ExtractionAnnotation.model_validate(given)
    except ValidationError as error:
        raise ConfigurationError([_problem(item, f"{key}.{ANNOTATION}") for item in error.errors()]) from None


def _problem(item: Any, key: str) -> Problem:
    name = ".".join(map(str, item["loc"]))
    if item["type"] != "extra_forbidden":
        return Problem(f"{key}.{name}" if name else key, str(item["msg"]))
    known = list(ExtractionAnnotation.model_fields)
    return Problem(f"{key}.{name}", f"there is no such annotation.{nearest(name, known)} Known: {', '.join(known)}.")
