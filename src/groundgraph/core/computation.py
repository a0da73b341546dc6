"""A computation over one table that a model proposes, and what a source tells of its tables for that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from groundgraph.core.evidence import SourceResult
from groundgraph.core.schema import SourceSchema

FUNCTIONS = ("count", "distinct", "sum", "average", "min", "max")
ORDERS = ("largest", "smallest")
MOST_GROUPS = 50


@dataclass(frozen=True)
class ComputableTable:
    """A table, with what belongs to its rows by declared relations.

    Attributes:
        name: its name.
        schema: its fields; a field of few values lists them as its `enum`.
        numbers: the fields that can be added up; none of them holds keys.
        unread: the columns that are no fields: of bytes, and with other values than they are declared for.
        key: the field whose values tell its rows apart; empty where no single one does.
    """

    name: str
    schema: SourceSchema
    numbers: tuple[str, ...]
    unread: tuple[str, ...] = ()
    key: str = ""

    @property
    def days(self) -> list[str]:
        """The fields that hold dates or times."""
        return [name for name, spec in self.schema.fields.items() if spec.get("type") in ("date", "datetime")]


@dataclass(frozen=True)
class Proposal:
    """One computation.

    Attributes:
        table: the table.
        function: one of `FUNCTIONS`.
        filters: conditions that a row must satisfy, by field.
        field: what it is computed of; empty to count rows.
        group_by: the fields by whose values the rows are taken together; none for one value over all.
        order: one of `ORDERS`, by the value of each group; empty for the order of the groups themselves.
        limit: how many groups are told, at most `MOST_GROUPS`.
    """

    table: str
    function: str
    filters: Mapping[str, Any] = field(default_factory=dict)
    field: str = ""
    group_by: tuple[str, ...] = ()
    order: str = ""
    limit: int = MOST_GROUPS


class Computing(Protocol):
    """What a source that computes over its rows offers beside its search.

    Raises:
        SourceError: from every method, when the source cannot answer.
    """

    async def tables(self, names: Sequence[str], filters: Mapping[str, Any]) -> list[ComputableTable]:
        """Those of the tables `names` over which it computes. Values are those that the filters of the run let see."""

    async def run(self, proposal: Proposal, filters: Mapping[str, Any]) -> SourceResult:
        """What `proposal` gives over the rows that `filters` keep too, as a result that says how many rows they were.

        Raises:
            FilterInvalid: it names what the table does not have, or asks for what cannot be computed of it.
        """
