"""Follow-ups that point back: at rows that were shown, the document that was quoted, what was counted (I11, R15)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import turns
from langchain_core.messages import AIMessage, HumanMessage
from plant_database import fill

from groundgraph import Context, InMemorySource, SqlSource
from groundgraph.answers.conversation import CITED
from groundgraph.evals.run_conversations import has_doubt
from groundgraph.prompts import Prompts

pytestmark = pytest.mark.covers("I11", "R15", "S8")

SCRIPT = """
CREATE TABLE machines (id INTEGER PRIMARY KEY, name TEXT, hall TEXT, state TEXT, interval_days INTEGER, tenant TEXT);
INSERT INTO machines VALUES (1, 'Press P1', 'A', 'running', 90, 'acme'), (2, 'Lathe L4', 'B', 'stopped', 180, 'acme'),
  (3, 'Robot R7', 'C', 'running', 30, 'acme'), (4, 'Oven O3', 'C', 'stopped', 365, 'umbrella');
CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT, ordered DATE);
INSERT INTO orders VALUES (9005, 'open', '2026-02-27'), (9007, 'delivered', '2026-03-02'), (9009, 'open', '2026-03-16');
CREATE TABLE rechnungen (nummer TEXT PRIMARY KEY, kunde TEXT, betrag REAL, status TEXT);
INSERT INTO rechnungen VALUES ('R-101', 'Gasthof Adler', 240, 'offen'), ('R-102', 'Café Linde', 310, 'bezahlt'),
  ('R-103', 'Hotel Seeblick', 2200, 'offen');
"""
HANDBOOK = "The canteen is open on working days. Whoever works in hall C wears a helmet, goggles and shoes."


@pytest.fixture
def company(tmp_path: Path) -> SqlSource:
    tables = ["machines", "orders", "rechnungen"]
    return SqlSource(fill(tmp_path / "company.sqlite", SCRIPT), name="company", tables=tables, index=":memory:")


@pytest.fixture
def graph(company: SqlSource) -> Any:
    return turns.build(
        sources=[company, InMemorySource([HANDBOOK], name="handbook")],
        base={"synthesis": {"style": "structured"}},
        memory=True,
    )


async def talk(graph: Any, *questions: str, contexts: tuple[Context | None, ...] = ()) -> dict[str, Any]:
    for at, question in enumerate(questions):
        output = await turns.ask(graph, question, "t", context=contexts[at] if contexts else None)
    return output


@pytest.mark.parametrize(
    ("questions", "told", "others"),
    [
        (["Where does the Robot R7 stand?", "What interval does it have?"], "interval_days: 30", ["Press P1"]),
        (["Where does the Robot R7 stand?", "no, I meant the press", "What is its interval?"], ": 90", ["Robot R7"]),
        (["Welchen Status hat die Rechnung R-103?", "Wie hoch ist sie?"], "2200", ["Gasthof Adler"]),
        (["Welchen Status hat die Rechnung R-103?", "Von welchem Kunden ist die?"], "Hotel Seeblick", ["Adler"]),
        (["What is the status of order 9005?", "and 9009?"], "2026-03-16", ["9005", "9007"]),
        (["What is the status of order 9005?", "sorry, 9009, I mean"], "2026-03-16", ["9005", "9007"]),
        # What may be so of any row asks of the row that was shown, not for the rows of which it is so.
        (["Welchen Status hat die Rechnung R-103?", "Bis wann muss die bezahlt sein?"], "R-103", ["R-102"]),
    ],
)
async def test_a_follow_up_asks_of_the_row_that_was_shown(
    graph: Any, questions: list[str], told: str, others: list[str]
) -> None:
    output = await talk(graph, *questions)
    assert output["outcome"] == "answered"
    assert told in output["answer"]
    # What was found besides is listed below.
    answer = output["answer"].partition("## Sources")[0]
    assert not any(other in answer for other in others)


@pytest.mark.parametrize(
    ("questions", "rows"),
    [
        (["Which machines are stopped?", "and how many are running?", "can you list them?"], ["Press P1", "Robot R7"]),
        (["How many machines are stopped?", "Which ones are they?"], ["Lathe L4", "Oven O3"]),
        (["How many orders are open?", "Who are they?"], ["9005", "9009"]),
        (["How many machines are running?", "Who are they?", "And in hall C?"], ["Robot R7"]),
        (["How many machines are running?", "Which ones are they?", "And stopped?"], ["Lathe L4", "Oven O3"]),
    ],
)
async def test_what_was_counted_is_listed(graph: Any, questions: list[str], rows: list[str]) -> None:
    output = await talk(graph, *questions)
    assert output["outcome"] == "answered"
    assert all(row in output["answer"] for row in rows)
    assert len(output["citations"]) == len(rows)


@pytest.mark.parametrize(
    "questions",
    [
        ["How many machines in hall C are shiny?", "Where do they stand?"],
        ["How many orders did we lose?", "And when was 9005 ordered?"],
    ],
)
async def test_behind_a_count_who_where_and_when_ask_for_none(graph: Any, questions: list[str]) -> None:
    output = await talk(graph, *questions)
    assert not any("a count" in note or "not counted" in note for note in output["notes"])


@pytest.mark.parametrize(
    ("questions", "rows"),
    [
        (["How many machines are stopped?", "Which are in hall C?"], ["Oven O3"]),
        (["Which machines are in hall C?", "Only stopped"], ["Oven O3"]),
        (["Wie viele Rechnungen hat Hotel Seeblick?", "Welche sind offen?"], ["R-103"]),
        # What counts by itself begins anew, also for what follows it.
        (["Which machines are running?", "How many orders are there?", "Which are open?"], ["9005", "9009"]),
    ],
)
async def test_what_asks_for_some_of_those_before_needs_no_pronoun(
    graph: Any, questions: list[str], rows: list[str]
) -> None:
    output = await talk(graph, *questions)
    assert output["outcome"] == "answered"
    assert not has_doubt(output, Prompts())
    assert [row for row in rows if row in output["answer"]] == rows
    assert len(output["citations"]) == len(rows)


@pytest.mark.parametrize(
    "question", ["Which is the highest press?", "Which of the orders are open?", "Which press runs?"]
)
async def test_what_names_the_things_it_asks_for_leans_on_nothing(graph: Any, question: str) -> None:
    output = await talk(graph, "Where is a helmet worn?", question)
    assert output["provenance"]["intent"]["text_queries"] == [question]


async def test_who_was_counted_is_told_without_the_doubt_of_a_number(tmp_path: Path) -> None:
    script = """CREATE TABLE staff (id INTEGER PRIMARY KEY, name TEXT, role TEXT, hours INT, city TEXT);
        INSERT INTO staff VALUES (1, 'Ann', 'cook', 38, 'Hard'), (2, 'Bob', 'waiter', 20, 'Hard');"""
    source = SqlSource(fill(tmp_path / "staff.sqlite", script), name="hotel", tables=["staff"], index=":memory:")
    graph = turns.build(sources=[source], base={"synthesis": {"style": "structured"}}, memory=True)
    output = await talk(graph, "How many cooks are there?", "Who are they?")
    assert "Ann" in output["answer"]
    assert not has_doubt(output, Prompts())


async def test_what_is_counted_behind_a_document_is_not_taken_for_another_document(company: SqlSource) -> None:
    handbook = InMemorySource(
        ["Open orders are shipped on working days; orders stay open for a week."], name="handbook"
    )
    graph = turns.build(sources=[company, handbook], base={"synthesis": {"style": "structured"}}, memory=True)
    output = await talk(graph, "When are open orders shipped?", "And how many orders are open?")
    assert "where status = open: 2" in output["answer"]


async def test_a_month_is_of_the_year_asked_about_before_and_its_count_stands_first(graph: Any) -> None:
    output = await talk(graph, "How many orders were ordered in February 2026?", "and in April?")
    assert output["outcome"] == "answered"
    assert "ordered >= 2026-04-01 and ordered < 2026-05-01: 0" in output["answer"]
    assert len(output["citations"]) == 1


async def test_what_no_column_tells_of_the_row_is_not_answered(graph: Any) -> None:
    output = await talk(graph, "Where does the Robot R7 stand?", "Who built it?")
    assert output["outcome"] == "insufficient"
    assert "Robot R7" in output["answer"]


async def test_a_row_is_read_again_under_the_filters_that_hold_now(company: SqlSource) -> None:
    """What one tenant was shown is not shown to another on the same thread."""
    kept = {"retrieval": {"scope_filters": {"company": {"tenant": "context.tenant"}}}}
    graph = turns.build(sources=[company], base={**kept, "synthesis": {"style": "structured"}}, memory=True)
    acme, umbrella = Context(scope={"tenant": "acme"}), Context(scope={"tenant": "umbrella"})
    asked = ("Where does the Robot R7 stand?", "What interval does it have?")
    own = await talk(graph, *asked, contexts=(acme, acme))
    assert "Robot R7" in own["answer"]

    other = await talk(graph, *asked, contexts=(acme, umbrella))
    assert "Robot R7" not in other["answer"]
    assert all("Robot" not in one["quote"] for one in other["citations"])


async def test_a_fragment_asks_for_no_rows_by_itself(graph: Any) -> None:
    output = await talk(graph, "Where is a helmet worn?", "And in hall C?")
    assert "Oven O3" not in output["answer"].partition("---")[0]


@pytest.mark.parametrize("made_up", [None, "x", [1], [["company"]], [["company", "machines/3", "more"]], {"a": 1}])
async def test_what_a_client_makes_of_the_citations_before_is_left_out(graph: Any, made_up: object) -> None:
    said = [HumanMessage("Where does the Robot R7 stand?"), AIMessage("In hall C.", response_metadata={CITED: made_up})]
    output = await graph.ainvoke({"messages": [*said, HumanMessage("What interval does it have?")]}, turns.thread("t"))
    assert output["outcome"] in ("answered", "insufficient")
    assert not output["provenance"].get("errors")


DOCUMENTS = [
    {"id": "cloud.md#1", "content": "Cloudpickle serialises lambdas. It is not for long storage."},
    {"id": "cloud.md#2", "content": "Cloudpickle was first developed by the picloud team."},
    {"id": "zone.md#1", "content": "The zones were first developed by a committee of astronomers in Paris."},
]


async def test_a_follow_up_is_about_the_document_that_was_quoted() -> None:
    graph = turns.build(
        sources=[InMemorySource(DOCUMENTS, name="docs")], base={"synthesis": {"style": "structured"}}, memory=True
    )
    output = await talk(graph, "What does cloudpickle serialise?", "Who developed it first?")
    assert output["outcome"] == "answered"
    assert "picloud" in output["answer"]
    assert "astronomers" not in output["answer"]


@pytest.mark.parametrize(
    ("texts", "question", "missing"),
    [
        (["Valve 3 opens at 4 bar."], "At what does valve 4 open?", "valve 4"),
        (["Pump 17 is serviced every 90 days."], "How often is pump 90 serviced?", "pump 90"),
        (["Bus 5 leaves at 7:30 from gate 9."], "When does bus 9 leave?", "bus 9"),
        (["Pumps 17 and 19 are serviced every 18 days."], "How often is pump 18 serviced?", "pump 18"),
        (["Plan A costs 10 euros. It includes B support."], "What does plan B cost?", "plan B"),
        (["Tarif A kostet 10 Euro. B gibt es auch."], "Was kostet Tarif B?", "Tarif B"),
        (["On 3 May 2024 the plant opened with 12 workers."], "What happened on 12 May 2024?", "12 May 2024"),
        (["On 3 May 2024 the plant opened with 12 workers."], "What happened on May 12, 2024?", "May 12, 2024"),
        (["Am 3. Mai 2024 kamen 12 Arbeiter ins Werk."], "Wer kam am 12. Mai 2024 ins Werk?", "12. Mai 2024"),
        (["Le 3 mai 2024, 12 ouvriers sont venus."], "Qui est venu le 12 mai 2024 ?", "12 mai 2024"),
        (["3 мая 2024 пришли 12 рабочих."], "Кто пришёл 12 мая 2024?", "12 мая 2024"),
    ],
)
async def test_a_number_that_stands_behind_another_word_names_nothing(
    texts: list[str], question: str, missing: str
) -> None:
    output = await turns.ask(turns.build(sources=[InMemorySource(texts, name="facts")]), question)
    assert has_doubt(output, Prompts())
    assert any(missing in note for note in output["notes"])


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Pumps 17 and 18 are serviced every 30 days.", "How often is pump 18 serviced?"),
        ("Pumps 17 to 19 are serviced every 30 days.", "How often is pump 18 serviced?"),
        ("Pumps 17–19 are serviced every 30 days.", "How often is pump 18 serviced?"),
        ("Pump no. 18 is serviced every 30 days, pump 17 every 60.", "How often is pump 18 serviced?"),
    ],
)
async def test_a_number_in_a_list_or_a_range_is_named(text: str, question: str) -> None:
    output = await turns.ask(turns.build(sources=[InMemorySource([text], name="facts")]), question)
    assert output["outcome"] == "answered"
    assert not any("pump 18" in note for note in output["notes"])


@pytest.mark.parametrize(
    ("texts", "question"),
    [
        (["On 2024-05-12 the plant opened with 3 workers."], "When did the plant open, on 12 May 2024?"),
        (["The plant was closed from 1 May to 20 May 2024."], "Was the plant closed on 12 May 2024?"),
        (["The plant opened on 20 May 2024."], "Which plant opened after 12 May 2024?"),
        (["The plant opened in May 2024."], "Did the plant open on 12 May 2024?"),
        (["We chose plan B. It costs 20 euros.", "Plan A costs 10 euros."], "What does plan B cost?"),
        (["Plans A, B and C cost 10 euros."], "What does plan C cost?"),
        (["Plan A costs 10 euros."], "Which plan I should choose costs 10 euros?"),
        (["The letter of J. Miller names plan A."], "What does the letter of K. Miller name?"),
    ],
)
async def test_a_date_in_another_form_or_within_a_bound_and_a_letter_in_a_list_is_named(
    texts: list[str], question: str
) -> None:
    output = await turns.ask(turns.build(sources=[InMemorySource(texts, name="facts")]), question)
    named = ("12 May", "plan B", "plan C", "plan I", "letter")
    assert not any(f"mentions {name}" in note for name in named for note in output["notes"])


async def test_what_is_said_on_that_day_goes_before_other_days() -> None:
    texts = ["On 3 May 2024, 12 workers opened the plant.", "On 12 May 2024 the plant burnt down."]
    asked = "What happened to the plant on 12 May 2024?"
    quoted = (await turns.ask(turns.build(sources=[InMemorySource(texts, name="facts")]), asked))["answer"]
    assert "burnt down" in quoted.partition("---")[0]
    assert "workers" not in quoted.partition("---")[0]


async def test_what_is_said_of_the_thing_with_that_number_goes_before_others() -> None:
    texts = ["Line 2 runs every 10 minutes.", "Line 10 is out of service."]
    output = await turns.ask(turns.build(sources=[InMemorySource(texts, name="facts")]), "How often does line 10 run?")
    quoted = output["answer"].partition("---")[0]
    assert "Line 10" in quoted
    assert "Line 2" not in quoted


@pytest.mark.parametrize(
    "question",
    [
        "How often is the sigma pump serviced and how much does it weigh?",
        "How often is the sigma pump serviced? How much does it weigh?",
    ],
)
async def test_of_two_questions_the_one_of_which_nothing_is_found_is_named(question: str) -> None:
    source = InMemorySource(["The sigma pump is serviced every 12 days.", "Keys hang at the gate."], name="facts")
    output = await turns.ask(turns.build(sources=[source]), question)
    assert "12 days" in output["answer"]
    assert any("weigh" in note for note in output["notes"])


async def test_another_document_needs_more_than_one_word_of_what_it_points_at() -> None:
    texts = [
        {"id": "oauth.md#1", "content": "The error code invalid_grant means that the grant has expired."},
        {"id": "sockets.md#1", "content": "A websocket that is closed early sends an error response."},
    ]
    graph = turns.build(
        sources=[InMemorySource(texts, name="docs")], base={"synthesis": {"style": "structured"}}, memory=True
    )
    output = await talk(graph, "What does the error code invalid_grant mean?", "Who sends it?")
    assert output["outcome"] == "insufficient" or has_doubt(output, Prompts())


TICKETS = """
CREATE TABLE tickets (ticket TEXT PRIMARY KEY, subject TEXT, status TEXT, priority TEXT, agent TEXT, opened DATE);
INSERT INTO tickets VALUES ('T-1', 'Drucker', 'offen', 'hoch', 'Jana Vogt', '2026-03-01'),
  ('T-2', 'Passwort', 'geschlossen', 'niedrig', 'Timo Beck', '2026-03-01'),
  ('T-3', 'VPN', 'offen', 'mittel', 'Jana Vogt', '2026-03-02'),
  ('T-4', 'Server', 'geschlossen', 'hoch', 'Selim Kaya', '2026-02-25'),
  ('T-5', 'Lizenz', 'wartet', 'niedrig', 'Jana Vogt', '2026-03-04');
"""


@pytest.fixture
def helpdesk(tmp_path: Path) -> Any:
    source = SqlSource(fill(tmp_path / "desk.sqlite", TICKETS), name="desk", tables=["tickets"], index=":memory:")
    return turns.build(sources=[source], base={"synthesis": {"style": "structured"}}, memory=True)


@pytest.mark.parametrize(
    "questions",
    [
        # The column `opened` says of no ticket that it is open.
        ["Which tickets does Jana Vogt have?", "Only the open ones"],
        ["Which tickets does Jana Vogt have?", "Only the open ones", "And Timo Beck?"],
        # What was shown for a count that was not understood is not what was counted.
        ["How many tickets has Selim Kaya lost?", "Which ones?"],
        ["How many tickets has Selim Kaya lost?", "Who are they?"],
    ],
)
async def test_where_a_word_was_not_read_no_rows_are_said_to_be_meant(helpdesk: Any, questions: list[str]) -> None:
    assert (await talk(helpdesk, *questions))["outcome"] == "insufficient"


@pytest.mark.parametrize(
    ("questions", "rows"),
    [
        (["Wie viele Tickets sind offen?", "Welche davon haben Priorität hoch?"], ["T-1"]),
        (["How many tickets are geschlossen?", "Only hoch", "Which are they?"], ["T-4"]),
    ],
)
async def test_every_condition_holds_for_the_rows_of_a_follow_up(
    helpdesk: Any, questions: list[str], rows: list[str]
) -> None:
    output = await talk(helpdesk, *questions)
    assert output["outcome"] == "answered"
    assert not has_doubt(output, Prompts())
    assert [one["quote"].split()[1] for one in output["citations"]] == rows


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What is the phone of Dr. Sana Qureshi?", 'nothing in their column "phone"'),
        ("In which room is Dr. Sana Qureshi?", ""),
        ("What is the phone of Dr. Ivo Petrak?", ""),
    ],
)
async def test_a_cell_that_is_empty_is_told(tmp_path: Path, question: str, told: str) -> None:
    script = """CREATE TABLE doctors (id INTEGER PRIMARY KEY, name TEXT, room TEXT, phone TEXT);
        INSERT INTO doctors VALUES (1, 'Dr. Sana Qureshi', 'P07', NULL), (2, 'Dr. Ivo Petrak', 'D03', '555-0102'),
          (3, 'Dr. Leo Brandt', 'C14', '555-0104'), (4, 'Dr. Amy Foss', 'O02', '555-0105');
        CREATE TABLE invoices (id INTEGER PRIMARY KEY, number TEXT, amount REAL);
        INSERT INTO invoices VALUES (1, 'R-101', 120), (2, 'R-102', 310), (3, 'R-103', 95), (4, 'R-104', 60);"""
    source = SqlSource(fill(tmp_path / "clinic.sqlite", script), name="clinic", index=":memory:")
    output = await turns.ask(turns.build(sources=[source], base={"synthesis": {"style": "structured"}}), question)
    assert output["outcome"] == "answered"
    assert has_doubt(output, Prompts()) is bool(told)
    assert [told in note for note in output["notes"]] == [True] * bool(told)
