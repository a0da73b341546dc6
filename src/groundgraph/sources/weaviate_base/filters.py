"""Conditions as Weaviate's filters over the fields of a base.

A filter never drops what `groundgraph.core.filters.matches` keeps; where it keeps more, results are checked with that.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import override

from groundgraph.core.errors import SchemaChanged
from groundgraph.core.filters import items_of
from groundgraph.search.push_down import Pushed, Times, push_down
from groundgraph.sources.check_options import is_number
from groundgraph.sources.weaviate.address import queries
from groundgraph.sources.weaviate.filters import FilterDialect, compared
from groundgraph.sources.weaviate_base.collections import field_property

# Values of fields in the forms in which Weaviate can be asked for them; see `collections`.

# Longer texts are compared by their hash; an index is no place for whole pages.
_LONG = 500
_LONGEST_FOLDED = 20_000
# A larger number, or one that is none, is compared as text alone.
LARGEST = 1e300


def stored_values(value: Any) -> dict[str, list[Any]]:
    """What is stored of `value`, a JSON value or a list of them, by what it is stored for."""
    values = list(filter(_is_scalar, items_of(value)))
    return {
        "equal": sorted({form for one in values for form in _equal_forms(one)}),
        "number": [float(one) for one in values if is_number(one) and abs(one) < LARGEST],
        "text": [one[:_LONG] for one in values if isinstance(one, str)],
        "folded": [f"|{str(one).casefold()[:_LONGEST_FOLDED]}|" for one in values],
    }


def wanted_form(operand: Any) -> str:
    """The stored form that equals the value of a condition, as `groundgraph.core.filters` compares them."""
    if isinstance(operand, bool):
        return f"?{operand}"
    # The marks around a text keep the white space at its ends, which Weaviate drops.
    if is_number(operand):
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


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | bool | int | float)


def as_filter(conditions: Mapping[str, Any], fields: Mapping[str, int]) -> Any:
    """One filter for all checked `conditions`; None without any.

    Raises:
        SchemaChanged: the base does not know a field yet.
    """
    for name in conditions:
        if name not in fields:
            raise SchemaChanged(
                f"The knowledge base does not know the field '{name}' yet; run `groundgraph ingest` once.", field=name
            )
    return push_down(conditions, fields, FieldDialect()).condition


class FieldDialect(FilterDialect[int]):
    """Weaviate's filters on the numbered fields of a base, each of which has a property for each way to ask."""

    @override
    def times(self, _field: int) -> Times:
        return Times.TEXT

    @override
    def equal(self, field: int, values: Sequence[Any]) -> Pushed[Any]:
        return Pushed(_by(field, "equal").contains_any(sorted(set(map(wanted_form, values)))), exact=True)

    @override
    def compared(self, field: int, operator: str, operand: Any) -> Pushed[Any]:
        if isinstance(operand, str):
            return compared(field_property(field, "text"), operator, operand)
        # Whatever is stored is less, and a larger whole number is no floating-point number.
        return compared(field_property(field, "number"), operator, float(max(-LARGEST, min(LARGEST, operand))))

    @override
    def contains(self, field: int, operand: Any) -> Pushed[Any]:
        # A question mark stands for any one character; there is no way to ask for the marks themselves.
        folded = str(operand).casefold().replace("*", "?")
        inside = _by(field, "folded").like(f"*{folded}*")
        return Pushed(self.any_of([self.equal(field, [operand]).condition, inside]), exact=False)


def _by(field: int, purpose: str) -> Any:
    return queries().Filter.by_property(field_property(field, purpose))
