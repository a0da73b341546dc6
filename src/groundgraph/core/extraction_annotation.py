"""What an `x-extraction` annotation says about one field of an extraction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.registry import nearest
from groundgraph.core.schema import SourceSchema

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

    grounding: Literal["auto", "exact", "fuzzy", "skip"] = "auto"
    overlap_threshold: float = Field(0.5, gt=0, le=1)
    cues: dict[str, list[str]] = {}


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
