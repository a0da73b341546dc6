"""Rows of tables among the evidence: which of them fit a question alike, and whether it tells them apart at all.

The name of a column stands in every row of its table, so it says nothing about a single one: "Which courses are
mandatory?" holds the same words as each course that is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from groundgraph.answers.evidence_blocks import Shape, blocks_of
from groundgraph.answers.quote_candidates import Asked, candidates_of
from groundgraph.answers.sentence_index import stems_of
from groundgraph.core.evidence import SourceResult
from groundgraph.text.find_cue import find_cue
from groundgraph.text.follow_up import own_words, spoken_stems
from groundgraph.text.negation import denied_parts, denies
from groundgraph.text.words import WORD, name_stems, query_stems, stem, stems, stop_words, words

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
    it holds of the question `behind` on which that leans; none where it holds no word, or something else holds more."""
    leant_on = frozenset(query_stems(behind)) & row_stems(evidence[first - 1])
    held = [asked.stems & row_stems(result) for result in evidence]
    own, table = held[first - 1], table_of(evidence[first - 1])
    if not own or any(asked.share(own) < asked.share(one) for one in held):
        return []
    pairs = zip(held, evidence, strict=True)
    alike = [label for label, (one, result) in enumerate(pairs, 1) if one == own and table_of(result) == table]
    return [label for label in alike if leant_on <= row_stems(evidence[label - 1])]


def rows_of_another_value(question: str, first: int, evidence: Sequence[SourceResult]) -> frozenset[int]:
    """The labels of the rows of the table of the row `first` that have another value than the question writes beside
    the name of a column, where that is no word by itself: "rating A". Empty where no row has that value."""
    table = table_of(evidence[first - 1])
    rows = {label: _cells(result) for label, result in enumerate(evidence, 1) if table_of(result) == table}
    others: set[int] = set()
    for column in rows[first]:
        written = {label for label, cells in rows.items() if _is_written(question, column, cells.get(column, ""))}
        others |= rows.keys() - written if written else set()
    return frozenset(others) if len(others) < len(rows) else frozenset()


class RowDoubt(NamedTuple):
    """Why rows may be no answer.

    Attributes:
        why: the question names a column, `by_column`, and not which of its values is meant; it asks which rows
            something does not hold for, `by_negation`; or for a number of rows or of their values, `by_computing`.
        names: of the columns.
    """

    why: Literal["by_column", "by_negation", "by_computing"]
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
    others = rows_of_another_value(question, first, evidence)
    alike = [label for label in rows_alike(first, asked, evidence) if label not in others]
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
    names = [column for column in cells[0] if _is_open(question, column, [one.get(column, "") for one in cells])]
    return RowDoubt("by_column", names) if names else None


def _names_number(question: str, rows: Sequence[Mapping[str, str]]) -> bool:
    """Whether `question` names a column that has a number in one of `rows`, as in "How many places has the course?"."""
    said = set(stems(question))
    numbers = {column for row in rows for column, value in row.items() if value[:1].isdecimal()}
    return any(said.issuperset(name_stems(column) or [""]) for column in numbers)


def _is_open(question: str, column: str, values: Sequence[str]) -> bool:
    """Whether `question` names `column` and not which of its `values` is meant, so that rows are among those that hold
    its words of which the opposite is said. What is asked for first, as in "which status", needs no value."""
    name, said = set(name_stems(column)), set(stems(question))
    told = any(_is_written(question, column, one) or said.issuperset(stems(one) or [""]) for one in values)
    if told or not name or not said.issuperset(name):
        return False
    if len(values) > 1 and any(map(denies, values)):
        return True
    repeated = 1 < len(set(values)) < len(values)
    return repeated and name.isdisjoint(own_words(question)[:1])


def _is_written(question: str, column: str, value: str) -> bool:
    """Whether `value`, which has only words that mean nothing by themselves, stands in `question` as it is written,
    beside the name of `column`."""
    own, said = WORD.findall(value), WORD.findall(question)
    name = name_stems(column)
    if not own or stems(value) or not name or question.isupper():
        return False
    ends = [at for at, word in enumerate(said) if stem("".join(words(word))) == name[-1]]
    return any(own == said[at : at + len(own)] for end in ends for at in _beside(said, end, len(own)))


def _beside(said: Sequence[str], name: int, length: int) -> list[int]:
    """Where `length` words begin that stand beside the word at `name`: before it, behind it, or behind a small word
    there, as in "a rating of A"."""
    places = [name - length, name + 1]
    if any(word in stop_words() for word in words(" ".join(said[name + 1 : name + 2]))):
        places.append(name + 2)
    return [at for at in places if at >= 0]


def _is_row(result: SourceResult) -> bool:
    return any(table_of(result))


def _cells(result: SourceResult) -> Mapping[str, str]:
    """The columns of a row with their values, as they stand in its content."""
    lines = (line.partition(":") for line in result.content.split("\n"))
    return {column: value.strip() for column, _, value in lines if column in result.metadata}


def row_stems(result: SourceResult) -> frozenset[str]:
    """The stems of a row, and of what it stands under."""
    return stems_of(result.content) | stems_of(str(result.metadata.get("section") or ""))
