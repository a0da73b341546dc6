"""Values of fields in the forms in which Weaviate can be asked for them; see `collections`."""

from __future__ import annotations

import hashlib
import math
from typing import Any

# Longer texts are compared by their hash; an index is no place for whole pages.
_LONG = 500
_LONGEST_FOLDED = 20_000
# A larger number, or one that is none, is compared as text alone.
LARGEST = 1e300


def stored_values(value: Any) -> dict[str, list[Any]]:
    """What is stored of `value`, a JSON value or a list of them, by what it is stored for."""
    values = [one for one in (value if isinstance(value, list) else [value]) if _is_scalar(one)]
    texts = [one for one in values if isinstance(one, str)]
    numbers = [float(one) for one in values if _is_number(one) and abs(one) < LARGEST]
    return {
        "equal": sorted({form for one in values for form in _equal_forms(one)}),
        "number": numbers,
        "text": [text[:_LONG] for text in texts],
        "folded": [f"|{str(one).casefold()[:_LONGEST_FOLDED]}|" for one in values],
    }


def wanted_form(operand: Any) -> str:
    """The stored form that equals the value of a condition, as `groundgraph.core.filters` compares them."""
    if isinstance(operand, bool):
        return f"?{operand}"
    # The marks around a text keep the white space at its ends, which Weaviate drops.
    if _is_number(operand):
        return f"#{_canonical(operand)}"
    if len(operand) > _LONG:
        return "^" + hashlib.sha256(operand.encode("utf-8", "surrogatepass")).hexdigest()
    return f"|{operand}|"


def _equal_forms(value: Any) -> list[str]:
    if isinstance(value, bool | str):
        return [wanted_form(value)]
    # A number also equals the text that shows it.
    return [f"#{_canonical(value)}", f"|{value}|"]


def _canonical(number: Any) -> str:
    if isinstance(number, float) and not (math.isfinite(number) and number.is_integer()):
        return repr(number)
    return str(int(number))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | bool | int | float)
