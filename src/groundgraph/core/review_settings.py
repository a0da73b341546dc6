"""When a person decides about an answer before anybody reads it (U3)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class HumanReviewSettings(BaseModel):
    """Off by default. Where it is on, answers are held, and a turn may stop until somebody decides."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    support_below: float | None = Field(
        None,
        gt=0,
        le=1,
        description="an answer whose support is lower than this waits for a person; null never waits",
    )

    @property
    def asks(self) -> bool:
        """Whether any answer may wait."""
        return self.support_below is not None
