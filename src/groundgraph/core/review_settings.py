"""When a person decides about an answer before anybody reads it (U3)."""

from pydantic import Field

from groundgraph.core.section import Section


class HumanReviewSettings(Section):
    """Off by default. Where it is on, answers are held, and a turn may stop until somebody decides."""

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
