"""Conditions as Weaviate's filters over the fields of a base.

A filter never drops what `groundgraph.core.filters.matches` keeps; where it keeps more, results are checked with that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import override

from groundgraph.core.errors import SchemaChanged
from groundgraph.search.push_down import Pushed, Times, push_down
from groundgraph.sources.weaviate.client_library import queries
from groundgraph.sources.weaviate.filters import FilterDialect, compared
from groundgraph.sources.weaviate_base.collections import field_property
from groundgraph.sources.weaviate_base.field_values import LARGEST, wanted_form


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
