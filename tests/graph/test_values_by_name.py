"""Questions over tables in which a word is the name of a column and a value, or a number stands beside a name (R15)."""

from __future__ import annotations

from typing import Any

import pytest
from table_talk import talk_over, told

from groundgraph import InMemorySource
from groundgraph.evals.run_conversations import has_doubt
from groundgraph.prompts import Prompts

pytestmark = pytest.mark.covers("R15", "A7", "S8")
SCRIPT = """
CREATE TABLE boats (id INTEGER PRIMARY KEY, name TEXT, kind TEXT, seats INTEGER, built INTEGER, sitze INTEGER,
  мест INTEGER);
INSERT INTO boats VALUES (1, 'Kingfisher', 'eight', 8, 2014, 8, 8), (2, 'Grey Heron', 'eight', 8, 2021, 8, 8),
  (3, 'Otter', 'coxed four', 4, 2009, 4, 4), (4, 'Swift', 'double', 2, 2022, 2, 2),
  (5, 'Minnow', 'single', 1, 2011, 1, 1), (6, 'Teal', 'single', 1, 2023, 1, 1);
CREATE TABLE members (id INTEGER PRIMARY KEY, name TEXT, category TEXT, locker INTEGER, town TEXT);
INSERT INTO members VALUES (101, 'Ada Lindqvist', 'full', 12, 'Heron Bay'), (102, 'Bilal Osman', 'full', 1, 'Saltford'),
  (103, 'Clare Penhaligon', 'student', NULL, 'Heron Bay'), (104, 'Dev Chaudhry', 'junior', NULL, 'Marsh End'),
  (105, 'Ines Duarte', 'student', 40, 'Saltford');
CREATE TABLE outings (id INTEGER PRIMARY KEY, boat_id INTEGER REFERENCES boats(id), km REAL, weather TEXT);
INSERT INTO outings VALUES (1, 1, 14.0, 'sunny'), (2, 5, 9.5, 'rain'), (3, 2, 20.5, 'rain');
CREATE TABLE repairs (id INTEGER PRIMARY KEY, boat_id INTEGER REFERENCES boats(id), done DATE, cost REAL, state TEXT);
INSERT INTO repairs VALUES (21, 3, NULL, NULL, 'waiting'), (22, 5, '2026-03-26', 35.0, 'done'),
  (23, 6, '2026-04-16', 48.0, 'done'), (24, 4, NULL, 120.0, 'in progress');
"""
HANDBOOK = [
    "Damage. A boat with a tag is not rowed. Repairs are done by Tomasz, the boatman, on Tuesdays and Thursdays.",
    "Swimming. No member goes afloat without having passed the test in the town pool.",
    "Keys and lockers. A locker costs 18 pounds a year. There are 64 of them, and a waiting list.",
    "Single sculls. Single scullers must be at least sixteen, or go out with a launch beside them.",
    "What it costs. Juniors under eighteen pay 120 pounds, students 165 pounds with proof.",
]


async def _talk(tmp_path: Any, *questions: str, relations: tuple[str, ...] = ()) -> dict[str, Any]:
    """The outputs of the last question of a conversation over the tables and a handbook."""
    handbook = InMemorySource(HANDBOOK, name="handbook")
    tables = ["boats", "members", "outings", "repairs"]
    return (await talk_over(tmp_path, SCRIPT, *questions, beside=[handbook], tables=tables, relations=relations))[-1]


def _rows(output: dict[str, Any]) -> list[str]:
    """What is told of the tables."""
    return told({"citations": [one for one in output["citations"] if one["source_name"] == "some"]})


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("List the repairs that are done", ["repairs/22", "repairs/23"]),
        ("Which repairs are done?", ["repairs/22", "repairs/23"]),
        ("How many repairs are done?", ["state = done: 2"]),
        ("Which boat was built in 2022?", ["boats/4"]),
        ("Which boats have 8 seats?", ["boats/1", "boats/2"]),
        ("boats with 2 seats", ["boats/4"]),
        ("Which boats have 1 seat?", ["boats/5", "boats/6"]),
        ("How many boats have 8 seats?", ["seats = 8: 2"]),
        ("How many boats were built in 2014?", ["built = 2014: 1"]),
        ("How many boats with 8 seats are eight?", ["seats = 8 and kind = eight: 2"]),
        ("Welche boats haben 8 Sitze?", ["boats/1", "boats/2"]),
        ("Wie viele boats haben 8 Sitze?", ["sitze = 8: 2"]),
        ("Welche boats wurden 2022 built?", ["boats/4"]),
        ("Сколько boats имеют 8 мест?", ["мест = 8: 2"]),
        ("How many seats has the Otter?", ["boats/3"]),
        ("How many seats has the Otter and when was it built?", ["boats/3"]),
        ("Wie viele Sitze hat der Otter?", ["boats/3"]),
        ("Who has locker 12?", ["members/101"]),
        ("how many singles are there?", ["kind = single: 2"]),
        ("How many students and juniors are there?", ["category = student or junior: 3"]),
        ("how many juniors", ["category = junior: 1"]),
    ],
)
async def test_a_value_is_read_where_it_stands_beside_a_name_or_is_one(
    tmp_path: Any, question: str, rows: list[str]
) -> None:
    output = await _talk(tmp_path, question)
    assert (output["outcome"], _rows(output)) == ("answered", rows)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("how many singles are there?", ["kind = single: 2"]),
        ("What did the repair of the Minnow cost?", ["repairs/22"]),
        ("List the outings of the Kingfisher", ["outings/1"]),
    ],
)
async def test_what_a_partner_has_is_not_the_rows_own(tmp_path: Any, question: str, rows: list[str]) -> None:
    relations = ("outings.boat_id = boats.id", "repairs.boat_id = boats.id")
    output = await _talk(tmp_path, question, relations=relations)
    assert (output["outcome"], _rows(output)) == ("answered", rows)


@pytest.mark.parametrize(
    "question",
    [
        "Which repairs are not done?",
        "How many repairs are not done?",
        "Who has no locker?",
        "How many members do not have a locker?",
        "Which members are without a locker?",
        "Which members have no town?",
        "Who has no locker and no town?",
        "Wer hat keinen locker?",
        "У кого нет locker?",
    ],
)
async def test_rows_that_do_not_have_something_are_answered_by_no_text_that_tells_of_it(
    tmp_path: Any, question: str
) -> None:
    output = await _talk(tmp_path, question)
    assert output["outcome"] == "insufficient"
    assert not any(one.get("computed") for one in output["citations"])


@pytest.mark.parametrize(
    "question",
    [
        # "locker" is the number of one, not how many there are.
        "How many members have 12 lockers?",
        "How many members have 1 locker?",
        # A limit, and a number of another thing.
        "How many boats have up to 8 seats?",
        "How many boats from 8 seats are there?",
        "Wie viele boats ab 8 Sitzen gibt es?",
        "Сколько boats от 8 мест?",
        "How many boats have 1.8 seats?",
        "How many boats have 9 seats?",
        # What has a value is no row by itself, or several columns may have it.
        "How many rain are there?",
        "How many Saltford are there?",
        "How many are single?",
        "How many km did the Teal row?",
    ],
)
async def test_a_number_or_a_value_that_may_say_something_else_counts_nothing(tmp_path: Any, question: str) -> None:
    output = await _talk(tmp_path, question)
    assert not any(one.get("computed") for one in output["citations"])


@pytest.mark.parametrize("question", ["How many locker members has Saltford?", "How many members has Saltford locker?"])
async def test_rows_that_are_counted_are_not_answered_by_a_number_in_each(tmp_path: Any, question: str) -> None:
    output = await _talk(tmp_path, question)
    assert output["outcome"] == "insufficient"
    assert any("would have to be computed" in note for note in output["notes"])


@pytest.mark.parametrize(
    ("questions", "rows"),
    [
        (["Which repairs are in progress?", "what about the done ones?"], ["repairs/22", "repairs/23"]),
        (["List the repairs that are done", "what about the one in progress?"], ["repairs/24"]),
        (["Which boats have 8 seats?", "what about 2 seats?"], ["boats/4"]),
        (["Which boats have 8 seats?", "how many are there?"], ["seats = 8: 2"]),
        (["How many boats have 2 seats?", "which boats?"], ["boats/4"]),
    ],
)
async def test_a_follow_up_names_another_value(tmp_path: Any, questions: list[str], rows: list[str]) -> None:
    output = await _talk(tmp_path, *questions)
    assert (output["outcome"], _rows(output)) == ("answered", rows)


@pytest.mark.parametrize("question", ["In which boat?", "Which boat?", "And with which boats?"])
async def test_what_points_at_something_unanswered_is_not_answered_by_all_rows(tmp_path: Any, question: str) -> None:
    output = await _talk(tmp_path, "What was the longest outing?", question)
    assert output["outcome"] == "insufficient" or has_doubt(output, Prompts())
    assert not any(one.get("computed") for one in output["citations"])


@pytest.mark.parametrize(
    ("question", "counted"),
    [
        ("how many students are there?", ["category = student: 2"]),
        ("How many student members are there?", ["category = student: 2"]),
        ("How many of them are students?", ["town = Saltford and category = student: 1"]),
    ],
)
async def test_a_count_that_stands_by_itself_keeps_no_condition(
    tmp_path: Any, question: str, counted: list[str]
) -> None:
    output = await _talk(tmp_path, "List all members from Saltford", question)
    assert _rows(output) == counted
