"""What a person decides about an answer, and what they are asked."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from groundgraph.core.turn_values import Decision


class ReviewDecision(BaseModel):
    """What becomes of an answer that waits."""

    model_config = ConfigDict(extra="forbid", frozen=True, title="Review")

    decision: Decision = Field(description="approve: the answer goes out; refuse: it is withheld; replace: see text")
    text: str = Field(
        "", max_length=32_000, description="with replace: the answer in its place, with the numbers of the evidence"
    )
    comment: str = Field("", max_length=4_000, description="kept in the record of the turn; no reader sees it")

    @model_validator(mode="after")
    def _replace_has_a_text(self) -> Self:
        if (self.decision == "replace") != bool(self.text.strip()):
            raise ValueError("text belongs to the decision 'replace', and only to it")
        return self


def read_decision(given: Any) -> tuple[ReviewDecision | None, str]:
    """The decision in what came in; None, with what is wrong with it, when it is none."""
    try:
        return ReviewDecision.model_validate(given), ""
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, one['loc'])) or 'review'}: {one['msg'].removeprefix('Value error, ')}"
            for one in error.errors(include_url=False, include_input=False)
        ]
        return None, "; ".join(problems)
