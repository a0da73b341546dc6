"""The results that state a computation, or that a question needs one that is not offered (R15)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from groundgraph.core.errors import FilterInvalid
from groundgraph.core.evidence import SourceResult, jsonable
from groundgraph.core.latest import Latest
from groundgraph.core.registry import nearest
from groundgraph.core.text import stem, stems, words
from groundgraph.sources.sql.any_database import ComputingDatabase
from groundgraph.sources.sql.computation_cues import find_cue
from groundgraph.sources.sql.compute import FUNCTIONS, Computation, Computed, check_field, compute
from groundgraph.sources.sql.read_computation import (
    LONGEST_VALUE,
    Vocabulary,
    is_about,
    is_lookup,
    is_named_so,
    read_computation,
)
from groundgraph.sources.sql.shape import TableShape
from groundgraph.sources.sql.sql_dialect import may_match
from groundgraph.sources.sql.version import Version

# A column with more different values is a text or a number, not a name by which rows are asked for.
_MOST_VALUES = 2_000
_KEPT = 16


class Computer:
    """Computes for one source. Its methods block.

    Args:
        database: the user's database; None for one that computes nothing, and then it is only said what is needed.
        named: the name and the type of the source.
        enums: by field, the values that the user declares.
    """

    def __init__(
        self, database: ComputingDatabase | None, named: tuple[str, str], enums: Mapping[str, Sequence[Any]]
    ) -> None:
        self._enums = enums
        self._database = database
        self._named = named
        self._vocabularies: Latest[tuple[Any, ...], Vocabulary] = Latest(_KEPT)

    def explicit(
        self, wanted: Mapping[str, Any], shapes: Sequence[TableShape], filters: Mapping[str, Any]
    ) -> SourceResult:
        """What `raw_data["aggregate"]` of an intent asks for.

        Args:
            wanted: `function`, and where needed `field` and `table`.
            shapes: the tables of the source, the likeliest first.
            filters: checked conditions.

        Raises:
            FilterInvalid: the function is no name, or the field or the table is not there.
        """
        function, field = wanted.get("function"), str(wanted.get("field") or "")
        if not isinstance(function, str):
            raise FilterInvalid(f"A computation needs a function, one of {', '.join(FUNCTIONS)}, not {function!r}.")
        if function not in FUNCTIONS or self._database is None:
            return self._unstated(function, shapes, offered=False)
        shape = _table(wanted.get("table"), [field, *filters] if field else list(filters), shapes)
        check_field(shape, function, field)
        return self._stated(self._database, Computation(function, shape, field, (filters,) if filters else ()))

    def by_rule(
        self, question: str, shapes: Sequence[TableShape], filters: Mapping[str, Any], version: Version, best: str
    ) -> SourceResult | None:
        """The computation that `question` asks for, or that it needs one; None for any other question.

        Args:
            question: the words.
            shapes: the tables that it was routed to, the best first.
            filters: checked conditions.
            version: of the database, for what is known of its values.
            best: the text of the best row; a question for "the first step" is answered by a row that says "first".
        """
        cue = find_cue(question)
        if cue is None or not shapes or (not cue.offered and cue.asking and cue.asking <= set(map(stem, words(best)))):
            return None
        database = self._database if cue.offered else None
        vocabularies = [self._vocabulary(database, shape, filters, version) for shape in shapes] if database else []
        known = list(zip(shapes, vocabularies, strict=False))
        if any(is_named_so(cue, shape) for shape in shapes):
            return None
        for shape, vocabulary in known if cue.function == "count" else ():
            found = read_computation(cue, shape, vocabulary, filters, alone=len(shapes) == 1)
            if found and database and may_match(shape, filters):
                return self._stated(database, found)
        if (cue.function == "count" and any(is_lookup(cue, *table) for table in known)) or not any(
            is_about(question, shape, found=bool(best)) for shape in shapes
        ):
            return None
        return self._unstated(cue.needs, shapes, offered=database is not None)

    def _stated(self, database: ComputingDatabase, computation: Computation) -> SourceResult:
        computed = compute(database, computation)
        metadata = {
            "computed": True,
            "function": computation.function,
            "field": computation.field or None,
            "filters": jsonable(computation.merged_filters()),
            "rows": computed.rows,
            "value": jsonable(computed.value),
            "table": computation.shape.name,
            "section": computation.shape.name,
        }
        return SourceResult(_statement(computation, computed), computation.id(), *self._named, 1.0, metadata)

    def _unstated(self, needs: str, shapes: Sequence[TableShape], *, offered: bool) -> SourceResult:
        reason = "could not be determined from the fields that are declared" if offered else "is not offered"
        content = (
            f"This question needs a computation over several rows ({needs}), which {reason}. "
            "No row that was found is the answer by itself."
        )
        tables = [shape.name for shape in shapes]
        metadata = {"needs_computation": True, "needs": needs, "tables": tables, "section": "computation"}
        return SourceResult(content, f"needs_computation:{needs}", *self._named, 1.0, metadata)

    def _vocabulary(
        self, database: ComputingDatabase, shape: TableShape, filters: Mapping[str, Any], version: Version
    ) -> Vocabulary:
        key = (shape.name, repr(sorted(filters.items())), version)
        return self._vocabularies.get_or_make(key, lambda: self._read_vocabulary(database, shape, filters))

    def _read_vocabulary(
        self, database: ComputingDatabase, shape: TableShape, filters: Mapping[str, Any]
    ) -> Vocabulary:
        # Only values that the filters let see: a tenant must not learn another's names from how they are spelt.
        found: dict[tuple[str, ...], dict[str, list[Any]]] = {}
        for column in shape.columns:
            if column.kind in ("string", "text", "integer", "date"):
                stored = database.values(shape, column.name, filters, _MOST_VALUES)
                for value in (*stored, *self._enums.get(column.name, ())):
                    name = tuple(stems(str(value)))
                    if name and len(name) <= LONGEST_VALUE:
                        found.setdefault(name, {}).setdefault(column.name, []).append(value)
        return found


def _table(name: Any, fields: Sequence[str], shapes: Sequence[TableShape]) -> TableShape:
    if name is None:
        fitting = [shape for shape in shapes if all(shape.column(field) for field in fields)]
        return fitting[0] if fitting else shapes[0]
    for shape in shapes:
        if shape.name == name:
            return shape
    known = [shape.name for shape in shapes]
    raise FilterInvalid(f"There is no table '{name}' to compute over.{nearest(str(name), known)} Tables: {known}.")


def _statement(computation: Computation, computed: Computed) -> str:
    if computed.value is None:
        return f"{computation.in_words()}: there is none, since no row has a value"
    value = round(computed.value, 6) if isinstance(computed.value, float) else computed.value
    over = "" if computation.function == "count" else f" (over {computed.rows} rows)"
    others = f"; {computed.left_out} rows were left out, their value is no number" if computed.left_out else ""
    return f"{computation.in_words()}: {value}{over}{others}"
