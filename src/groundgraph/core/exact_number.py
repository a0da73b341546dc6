"""Numbers that are shown with the digits that were written, where a float would show others."""

from __future__ import annotations

from decimal import Decimal
from typing import Self

from typing_extensions import override

# A float is written out between these powers of ten, which Python itself does from -4 to 15.
_WRITTEN_OUT = range(-20, 22)


class ExactNumber(float):
    """A number that compares as the nearest float, and is shown as it was written.

    Attributes:
        written: its digits.
    """

    def __new__(cls, value: float | str, written: str | None = None) -> Self:  # noqa: ARG004, D102 - see the class
        return super().__new__(cls, value)

    def __init__(self, value: float | str, written: str | None = None) -> None:
        self.written = str(value) if written is None else written

    @override
    def __str__(self) -> str:
        return self.written


def exact_number(written: str) -> float:
    """The number that `written` says; a plain float where that is shown with the same digits.

    Raises:
        ValueError: it says none.
    """
    near = float(written)
    return near if repr(near) == written else ExactNumber(written)


def read_decimal(value: Decimal) -> int | float | str:
    """A decimal as a number of the same value; text for `NaN` and `Infinity`."""
    if not value.is_finite():
        return str(value)
    if value == value.to_integral_value() and abs(value) < 2**63:
        return int(value)
    near = float(value)
    digits = plain_digits(value)
    return near if repr(near) == digits else ExactNumber(digits)


def shown_number(value: float) -> str:
    """`value` in digits, without an exponent unless it is very large or small."""
    if isinstance(value, ExactNumber) or not isinstance(value, float):
        return str(value)
    written = repr(value)
    return plain_digits(Decimal(written)) if "e" in written else written


def rounded_number(value: float, digits: int) -> str:
    """`value` in at most so many significant `digits`."""
    if not isinstance(value, ExactNumber):
        return shown_number(float(f"{value:.{digits}g}"))
    return plain_digits(Decimal(f"{Decimal(value.written):.{digits - 1}e}"))


def plain_digits(value: Decimal) -> str:
    """A finite decimal without the zeros behind its last digit, and without an exponent where that is not long."""
    if value and value.adjusted() not in _WRITTEN_OUT:
        return str(value.normalize())
    written = format(value, "f")
    return written.rstrip("0").rstrip(".") if "." in written else written
