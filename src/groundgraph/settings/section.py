"""The base of every section of the settings.

The files of sections have no `from __future__ import annotations`: each annotation would be compiled from its text once
more whenever a process starts.
"""

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    SerializerFunctionWrapHandler,
    WithJsonSchema,
    model_serializer,
)

from groundgraph.core.secret_mask import know_secrets, shown
from groundgraph.text.words import LANGUAGES

# Where a key stands in a configuration: names of sections and numbers of entries, from the outermost on.
Location = tuple[str | int, ...]


class Shown(BaseModel):
    """Settings that can be printed, dumped and logged: a secret among them is `***` there.

    The values themselves are as they were given; whoever builds something of them reads the fields and `model_extra`.
    """

    def model_post_init(self, _: Any) -> None:
        """From now on, what is secret among the values is masked in every text from outside."""
        know_secrets(self)

    @model_serializer(mode="wrap")
    def _without_secrets(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: shown(value, name) for name, value in dump(self).items()}

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, shown(value, name or "")


def _known_language(code: str) -> str:
    if code not in LANGUAGES:
        raise ValueError(f"there is no language '{code}'; there are {', '.join(LANGUAGES)}")
    return code


LanguageCode = Annotated[
    str, AfterValidator(_known_language), WithJsonSchema({"type": "string", "enum": list(LANGUAGES)})
]
"""The code of a language that has a data file."""


class Section(Shown):
    """Base of every section: unknown keys are errors, values cannot be changed afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True)
