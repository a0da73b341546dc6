"""`deadlines` and `limits`: the bounds of one turn."""

from typing import Literal

from pydantic import Field, NonNegativeInt, PositiveFloat, PositiveInt

from groundgraph.core.section import Section


class DeadlineSettings(Section):
    """Limits in seconds: the whole turn, one question to one source, one call of a model."""

    turn: PositiveFloat = 60
    source: PositiveFloat = 10
    model: PositiveFloat = 30


class LimitSettings(Section):
    """Bounds of one turn (T9)."""

    message_chars: PositiveInt = 32_000
    long_message: Literal["reject", "truncate"] = "reject"
    model_calls: NonNegativeInt = 8
    tokens: PositiveInt = Field(100_000, description="prompt and completion tokens of all model calls of a turn")
    attempts: int = Field(3, ge=1, le=10, description="tries of one question to a source or a model")
    breaker_failures: PositiveInt = Field(5, description="failures in a row after which a source is left alone")
    breaker_pause: PositiveFloat = Field(30, description="seconds for which it is")
