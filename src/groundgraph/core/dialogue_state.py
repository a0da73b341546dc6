"""The state of a dialogue, as a larger graph that leads the dialogue names it (C7).

It stands in the session metadata under `dialogue_state`, or in the context of a run, which wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from groundgraph.core.errors import InputInvalid

# The name in a thread's metadata, and the source that facts given word for word are cited from.
DIALOGUE_STATE = "dialogue_state"
SOURCE_TYPE = "state_facts"


class StateFact(BaseModel):
    """One fact that belongs to a state of the dialogue; `id` names it in citations."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str = Field(min_length=1, max_length=8_000)
    id: str | None = Field(None, max_length=200)
    title: str | None = Field(None, max_length=500)
    url: str | None = Field(None, max_length=2_000)
    category: str | None = Field(None, max_length=100)


class DialogueState(BaseModel):
    """Where a dialogue stands.

    Attributes:
        name: of the state, for example `presentation`.
        intent: what the user wants, by the name that `category_router.intents` knows.
        categories: their facts are taken from the sources that have categories.
        facts: texts of the caller's own, the most important first; they stand before those of the categories.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field("", max_length=200)
    intent: str | None = Field(None, max_length=200)
    categories: list[str] = Field([], max_length=50)
    facts: list[StateFact] = Field([], max_length=200)

    @field_validator("facts", mode="before")
    @classmethod
    def _texts_are_facts(cls, given: Any) -> Any:
        return [{"text": one} if isinstance(one, str) else one for one in given] if isinstance(given, list) else given


def dialogue_state(metadata: Mapping[str, Any], chosen: Mapping[str, Any]) -> DialogueState:
    """The state that the run's choices `chosen` name, else that of the session; an empty one when nobody names any.

    Raises:
        InputInvalid: the session's metadata holds something else under that name.
    """
    given = chosen.get(DIALOGUE_STATE) or metadata.get(DIALOGUE_STATE) or {}
    try:
        return given if isinstance(given, DialogueState) else DialogueState.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, (DIALOGUE_STATE, *first["loc"])))
        raise InputInvalid(f"{place}: {first['msg']}") from error
