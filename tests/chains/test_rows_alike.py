"""Rows that fit a question as well as one that is quoted (A7): none of them is left out without a word."""

from __future__ import annotations

import pytest

from groundgraph.answers.quotes import MAX_ROWS, select_quotes, stated_rows, with_rows_alike
from groundgraph.core.evidence import SourceResult, changed

pytestmark = pytest.mark.covers("A7")


def _row(number: int, status: str, **about: object) -> SourceResult:
    told = {"file_row": number, "document": "pumps.csv", "pump": f"P{number}", "status": status, **about}
    content = f"pump: P{number}\nstatus: {status}\nhall: 4"
    return SourceResult(content, f"pumps.csv#{number}", "manual", "knowledge_base", 0.9, told)


def _quoted(question: str, evidence: list[SourceResult]) -> tuple[list[int], int]:
    """The labels that are quoted, and how many rows are told to fit alike."""
    found = with_rows_alike(question, select_quotes(question, evidence), evidence)
    return [quote.label for quote in found.quotes], found.found


def test_all_rows_that_hold_the_same_words_are_quoted() -> None:
    rows = [_row(number, "stopped" if number % 2 else "running") for number in range(1, 11)]
    labels, found = _quoted("Which pumps are stopped?", rows)
    assert (sorted(labels), found) == ([1, 3, 5, 7, 9], 5)


def test_of_many_only_so_many_are_quoted() -> None:
    labels, found = _quoted("Which pumps are stopped?", [_row(number, "stopped") for number in range(1, 15)])
    assert (len(labels), found) == (MAX_ROWS, 14)


def test_a_single_row_stays_alone() -> None:
    labels, found = _quoted("Which pump is stopped?", [_row(1, "running"), _row(2, "stopped"), _row(3, "running")])
    assert (labels[0], found) == (2, 0)


def test_no_rows_come_with_a_text_that_holds_more() -> None:
    text = SourceResult("A pump that is stopped by a leak is drained.", "m#1", "manual", "knowledge_base", 0.9)
    question = "What happens to a stopped pump that has a leak?"
    labels, found = _quoted(question, [text, *(_row(number, "stopped") for number in range(1, 9))])
    assert (labels[0], found) == (1, 0)


def test_long_texts_in_a_table_are_no_rows() -> None:
    rows = [_row(number, "stopped") for number in range(1, 9)]
    texts = [changed(row, content=f"{row.content}\n{'It leaks. ' * 40}") for row in rows]
    assert _quoted("Which pumps are stopped?", texts)[1] == 0


def test_rows_that_were_asked_for_are_quoted_in_order() -> None:
    found = stated_rows([_row(number, "stopped", asked_for=True) for number in range(1, 6)])
    assert ([quote.label for quote in found.quotes], found.found) == ([1, 2, 3, 4, 5], 0)
    assert stated_rows([_row(1, "stopped")]) is None


def test_behind_a_question_rows_that_lack_its_thing_do_not_fit_alike() -> None:
    told = [("table", "oak"), ("table", "ash"), ("desk", "ash"), ("desk", "pine")]
    rows = [
        changed(_row(number, "new", product=thing), content=f"product: {thing}\nwood: {wood}")
        for number, (thing, wood) in enumerate(told, 1)
    ]
    behind = "How much is the oak table?"
    quotes = select_quotes("And in ash?", rows, behind=behind, among=[2])
    assert [quote.label for quote in with_rows_alike("And in ash?", quotes, rows, behind).quotes] == [2]
    assert [quote.label for quote in with_rows_alike("And in ash?", quotes, rows).quotes] == [2, 3]


@pytest.mark.parametrize("day", ["2026-07-04", "July 4, 2026", "4.7.2026"])
def test_rows_of_another_day_do_not_fit_alike(day: str) -> None:
    days = ("2026/07/04", "2026/04/07", "2026/05/13")
    rows = [_row(number, "stopped", day=one) for number, one in enumerate(days, 1)]
    told = [changed(row, content=f"{row.content}\nday: {one}") for row, one in zip(rows, days, strict=True)]
    question = f"Which pump was stopped on {day}?"
    quotes = select_quotes(question, told, among=[1])
    assert [quote.label for quote in with_rows_alike(question, quotes, told).quotes] == [1]


@pytest.mark.parametrize(("text", "labels"), [("Each pump has a valve.", [1, 2]), ("A stopped pump leaks.", [1, 2, 3])])
def test_what_holds_less_than_the_rows_is_not_quoted_beside_them(text: str, labels: list[int]) -> None:
    question = "Which pumps are stopped?"
    told = SourceResult(text, "m#1", "manual", "knowledge_base", 0.9, {"section": "Oil and valves"})
    evidence = [_row(1, "stopped"), _row(2, "stopped"), told]
    quotes = [quote for label in (1, 3) for quote in select_quotes(question, evidence, among=[label])]
    assert sorted(quote.label for quote in quotes) == [1, 3]
    found = with_rows_alike(question, quotes, evidence)
    assert sorted(quote.label for quote in found.quotes) == labels
