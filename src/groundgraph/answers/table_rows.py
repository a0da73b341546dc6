"""Rows of tables among the evidence: which of them fit a question alike, and whether it tells them apart at all.

The name of a column stands in every row of its table, so it says nothing about a single one: "Which courses are
mandatory?" holds the same words as each course that is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from groundgraph.answers.evidence_blocks import Shape, blocks_of
from groundgraph.answers.named_things import of_numbered
from groundgraph.answers.quote_candidates import Asked, candidates_of
from groundgraph.answers.sentence_index import stems_of
from groundgraph.core.evidence import SourceResult
from groundgraph.text.find_cue import find_cue
from groundgraph.text.follow_up import own_words, spoken_stems
from groundgraph.text.negation import denied_parts, denies
from groundgraph.text.words import name_stems, query_stems, stems

# Longer ones are texts that stand in a table.
ROW_CHARS = 300


def table_of(result: SourceResult) -> tuple[str, str]:
    """The source and the table, or the file, of which `result` is a short row; two empty texts when it is none."""
    told = result.metadata
    if len(result.content) > ROW_CHARS or not has_cells(result):
        return "", ""
    return result.source_name, str(told.get("document") if "file_row" in told else told["table"])


def has_cells(result: SourceResult) -> bool:
    """Whether `result` is a row of a table or a file, each line of which is a column with its value."""
    told = result.metadata
    is_row = "file_row" in told or ("table" in told and "key" in told)
    return is_row and result.content.partition(":")[0] in told


def rows_alike(first: int, asked: Asked, evidence: Sequence[SourceResult], behind: str = "") -> list[int]:
    """The labels of the rows of one table that hold the same words of the question as the row `first`, and those that
    it holds of the question `behind` on which that leans, but for those of another number or day than it names; none
    where it holds no word, or something else holds more."""
    leant_on = frozenset(query_stems(behind)) & row_stems(evidence[first - 1])
    held = [asked.stems & row_stems(result) for result in evidence]
    own, table = held[first - 1], table_of(evidence[first - 1])
    if not own or any(asked.share(own) < asked.share(one) for one in held):
        return []
    pairs = zip(held, evidence, strict=True)
    alike = [label for label, (one, result) in enumerate(pairs, 1) if one == own and table_of(result) == table]
    others = of_numbered(asked.question, evidence).others if len(alike) > 1 else set[int]()
    return [label for label in alike if label - 1 not in others and leant_on <= row_stems(evidence[label - 1])]


class RowDoubt(NamedTuple):
    """Why rows may be no answer.

    Attributes:
        why: the question names a column, `by_column`, and not which of its values is meant; one that is empty in these
            rows, `by_empty`; it asks which rows something does not hold for, `by_negation`; or for a number of rows or
            of their values, `by_computing`.
        names: of the columns.
    """

    why: Literal["by_column", "by_empty", "by_negation", "by_computing"]
    names: list[str]


def row_doubt(question: str, evidence: Sequence[SourceResult]) -> RowDoubt | None:
    """Why the rows that hold most of `question` may not answer it; None where they do, or something else holds as
    much and was found before them."""
    if not any(map(_is_row, evidence)):
        return None
    asked = Asked.of(question, evidence)
    held = [asked.share(asked.subject & row_stems(result)) for result in evidence] if asked.weights else [0.0]
    first = held.index(max(held)) + 1
    if not held[first - 1] or not _is_row(evidence[first - 1]):
        return None
    alike = rows_alike(first, asked, evidence)
    return doubt_of_rows(question, [evidence[label - 1] for label in alike or [first]])


def asks_to_compare_figures(question: str, evidence: Sequence[SourceResult]) -> bool:
    """Whether `question` asks for the most or the least of rows of figures, as a page has them, which nobody compared:
    the piece that fits it best holds such rows, and its best sentence no word such as "most"."""
    cue = find_cue([question])
    if cue is None or cue.needs != "superlative":
        return False
    candidates = candidates_of(Asked.of(question, evidence), evidence)
    best = max(candidates, key=lambda candidate: candidate.worth, default=None)
    if best is None or not cue.asking.isdisjoint(spoken_stems(best.text)):
        return False
    return any(block.kind == "figures" for block in blocks_of(Shape.of(evidence[best.label - 1])))


def doubt_of_rows(question: str, rows: Sequence[SourceResult]) -> RowDoubt | None:
    """Why `rows` of one table, which hold the same words of `question`, may not answer it."""
    cells = [_cells(row) for row in rows]
    held = frozenset[str]().union(*map(row_stems, rows))
    if any(not held.isdisjoint(stems(part)) for part in denied_parts(question)):
        return RowDoubt("by_negation", [])
    if find_cue([question]) is not None and not _names_number(question, cells):
        return RowDoubt("by_computing", [])
    return _doubt_of_columns(question, rows, cells)


def _doubt_of_columns(
    question: str, rows: Sequence[SourceResult], cells: Sequence[Mapping[str, str]]
) -> RowDoubt | None:
    if empty := _empty_columns(question, rows):
        return RowDoubt("by_empty", empty)
    names = [column for column in cells[0] if _is_open(question, column, [one.get(column, "") for one in cells])]
    return RowDoubt("by_column", names) if names else None


def _empty_columns(question: str, rows: Sequence[SourceResult]) -> list[str]:
    """The columns that `question` names in which none of `rows` has a value."""
    said = set(stems(question))
    empty = set.intersection(*({name for name, value in row.metadata.items() if value in (None, "")} for row in rows))
    return sorted(name for name in empty if said.issuperset(name_stems(name) or [""]))


def _names_number(question: str, rows: Sequence[Mapping[str, str]]) -> bool:
    """Whether `question` names a column that has a number in one of `rows`, as in "How many places has the course?"."""
    said = set(stems(question))
    numbers = {column for row in rows for column, value in row.items() if value[:1].isdecimal()}
    return any(said.issuperset(name_stems(column) or [""]) for column in numbers)


def _is_open(question: str, column: str, values: Sequence[str]) -> bool:
    """Whether `question` names `column` and not which of its `values` is meant, so that rows are among those that hold
    its words of which the opposite is said. What is asked for first, as in "which status", needs no value."""
    name, said = set(name_stems(column)), set(stems(question))
    told = any(said.issuperset(stems(one) or [""]) for one in values)
    if told or not name or not said.issuperset(name):
        return False
    if len(values) > 1 and any(map(denies, values)):
        return True
    repeated = 1 < len(set(values)) < len(values)
    return repeated and name.isdisjoint(own_words(question)[:1])


def _is_row(result: SourceResult) -> bool:
    return any(table_of(result))


def _cells(result: SourceResult) -> Mapping[str, str]:
    """The columns of a row with their values, as they stand in its content."""
    lines = (line.partition(":") for line in result.content.split("\n"))
    return {column: value.strip() for column, _, value in lines if column in result.metadata}


def row_stems(result: SourceResult) -> frozenset[str]:
    """The stems of a row, and of what it stands under."""
    return stems_of(result.content) | stems_of(str(result.metadata.get("section") or ""))
