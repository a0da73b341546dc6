"""Conversations over several tables: which rows a question names, and which a follow-up keeps (R15, S8, I11)."""

from __future__ import annotations

import pytest
from table_talk import talk_over, told

pytestmark = pytest.mark.covers("R15", "S8", "I11")
SCRIPT = """
CREATE TABLE employees (id INTEGER PRIMARY KEY, name TEXT, department TEXT, city TEXT, hired DATE, salary INTEGER);
INSERT INTO employees VALUES
  (1, 'Holzer', 'Lab', 'Linz', '2012-02-01', 9800), (2, 'Petrov', 'Logistics', 'Wels', '2018-05-15', 4200),
  (4, 'Weber', 'IT', 'Linz', '2019-01-07', 5100), (5, 'Lindqvist', 'IT', 'Vienna', '2016-11-01', 6900),
  (7, 'Smirnova', 'Sales', 'Vienna', '2022-08-16', 4100), (9, 'Berg', 'Lab', 'Graz', '2024-06-01', 3700);
CREATE TABLE invoices (number TEXT PRIMARY KEY, customer TEXT, issued DATE, due DATE, status TEXT);
INSERT INTO invoices VALUES
  ('R-1003', 'Adler', '2026-03-03', '2026-04-02', 'overdue'), ('R-1004', 'Falk', '2026-03-18', '2026-04-17', 'open'),
  ('R-1005', 'Condor', '2026-05-06', '2026-06-05', 'open'), ('R-1007', 'Adler', '2026-05-29', '2026-06-28', 'paid');
CREATE TABLE inventory (article TEXT PRIMARY KEY, warehouse TEXT, quantity INTEGER, reorder_level INTEGER);
INSERT INTO inventory VALUES ('C-010', 'Linz', 310, 100), ('R-005', 'Steyr', 88, 20), ('G-001', 'Wels', 7, 4);
CREATE TABLE tickets (id INTEGER PRIMARY KEY, title TEXT, customer TEXT, priority TEXT, state TEXT, opened DATE);
INSERT INTO tickets VALUES
  (501, 'Gateway restarts', 'Adler', 'high', 'open', '2026-04-02'),
  (503, 'Export fails', 'Milan', 'high', 'closed', '2026-05-03'),
  (504, 'Question about the invoice R-1003', 'Adler', 'low', 'closed', '2026-05-11'),
  (506, 'Alarm shown twice', 'Condor', 'high', 'open', '2026-08-30');
"""


async def _asked(folder, *questions: str) -> dict:
    """The outputs of the last question of a conversation without a model."""
    tables = ["employees", "invoices", "inventory", "tickets"]
    return (await talk_over(folder, SCRIPT, *questions, tables=tables))[-1]


def _quoted(output: dict) -> list[str]:
    """The keys of the rows that are quoted, or what was computed from which condition on."""
    return sorted(one.rpartition("/")[2] for one in told(output))


@pytest.mark.parametrize(
    ("question", "needs"),
    [
        ("All tickets but the closed ones", "do not meet a condition"),
        ("non-high tickets", "do not meet a condition"),
        ("tickets with a priority below high", "a comparison of rows"),
        ("every employee but Weber", "do not meet a condition"),
        ("Which articles are below the reorder level?", "a comparison of rows"),
        ("Alle tickets, aber die closed nicht", "auf die etwas nicht zutrifft"),
        ("Welche tickets haben eine priority unter high?", "Vergleich"),
        ("Quels tickets mais closed", "ne remplissent pas une condition"),
        ("¿Qué tickets tiene el estado pero closed?", "no cumplen una condición"),
    ],
)
async def test_what_is_turned_against_or_a_limit_is_answered_by_no_row_that_has_it(tmp_path, question, needs):
    output = await _asked(tmp_path, question)
    assert output["outcome"] == "insufficient"
    assert any(needs in note for note in output["notes"])


async def test_a_limit_in_another_language_than_most_of_the_question_is_a_doubt_that_names_it(tmp_path):
    output = await _asked(tmp_path, "Какие tickets имеют priority ниже high?")
    assert any("may not be answered" in note and "ниже" in note for note in output["notes"])


@pytest.mark.parametrize(
    ("questions", "quoted"),
    [
        (["Which tickets are closed?"], ["503", "504"]),
        (["Which tickets are of high priority?"], ["501", "503", "506"]),
        (["Which customers have open invoices?"], ["R-1004", "R-1005"]),
        (["Which articles are in Linz?"], ["C-010"]),
        (["Which invoices are open?", "But paid?"], ["R-1007"]),
        # A column of two tables says nothing of which rows are meant, a key may be one of another table.
        (["How many invoices are overdue?", "Which ones?", "And open?"], ["R-1004", "R-1005"]),
        (["How many employees are from Linz?", "And Vienna?", "And Graz?"], ["city = Graz: 1"]),
        (["How many invoices are open?", "And paid?", "And overdue?"], ["status = overdue: 1"]),
        (["How many tickets are open?", "And of high priority?"], ["state = open and priority = high: 2"]),
        (["How many tickets are open?", "And of high priority?", "Which of them are from Adler?"], ["501"]),
        (["Which employees are from Vienna?", "Which of them is in IT?"], ["5"]),
        (["Which employees are from Linz?", "Of these, who is in Lab?"], ["1"]),
        (["Which employees are from Graz?", "Of these, who is in IT?"], ["city = Graz and department = IT: 0"]),
        (["How many employees in the IT department?"], ["department = IT: 2"]),
        (["How many employees are in IT?"], ["department = IT: 2"]),
        (["Which employees have a salary of 4200?"], ["2"]),
        (["Who has a salary of 4200?"], ["2"]),
        (["How many employees have a salary of 4200?"], ["salary = 4200: 1"]),
        (["Wie viele employees haben eine salary von 4200?"], ["salary = 4200: 1"]),
        (["Combien de employees ont une salary de 4200?"], ["salary = 4200: 1"]),
        (["¿Cuántos employees tienen una salary de 4200?"], ["salary = 4200: 1"]),
        (["How many employees were hired in May?"], ["hired >= 2018-05-01 and hired < 2018-06-01: 1"]),
        (["Who was hired in May?"], ["2"]),
        # Each of several values of one column is meant, whatever joins them.
        (["Which invoices are open or paid?"], ["R-1004", "R-1005", "R-1007"]),
        (["How many invoices are open, paid or overdue?"], ["status = open or paid or overdue: 4"]),
        (["Wie viele invoices sind open oder paid?"], ["status = open or paid: 3"]),
        # A column with a short name is named by it as any other.
        (["What is invoice R-1007?", "When is it due?"], ["R-1007"]),
    ],
)
async def test_what_is_named_and_kept_is_what_answers(tmp_path, questions, quoted):
    output = await _asked(tmp_path, *questions)
    assert (output["outcome"], _quoted(output)) == ("answered", quoted)


@pytest.mark.parametrize(
    ("questions", "unread"),
    [
        (["Which invoices are from May 2026?"], 'invoices were not selected: "May 2026"'),
        (["Invoices of April 2026"], 'invoices were not selected: "April 2026"'),
        (["Which articles are in Linz?", "And Vienna?"], 'inventory were not selected: "Vienna"'),
        (["How many critical tickets are there?", "How many tickets of Siemens are there?"], 'not counted: "Siemens"'),
    ],
)
async def test_a_word_that_is_no_value_of_the_table_is_told(tmp_path, questions, unread):
    output = await _asked(tmp_path, *questions)
    assert output["outcome"] == "insufficient"
    assert any(unread in note for note in output["notes"])


async def test_a_number_that_is_part_of_a_name_is_no_count(tmp_path):
    output = await _asked(tmp_path, "What is the phone number of Weber?")
    assert output["outcome"] == "insufficient"
    assert not any("a count" in note for note in output["notes"])
