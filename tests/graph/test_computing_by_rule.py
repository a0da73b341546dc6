"""Conversations over a table whose questions are counted, or asked for its rows, by rule and without a model."""

from __future__ import annotations

from pathlib import Path

import pytest
from plant_database import fill
from table_talk import computed, over_tables, talk, talk_over

from groundgraph import KnowledgeBase, load_settings, turn_graph
from groundgraph.core.document import Document

pytestmark = pytest.mark.covers("R15", "A7")
SCRIPT = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT);
INSERT INTO customers VALUES (1, 'Uni Graz', 'Graz'), (2, 'Bergmann GmbH', 'Linz'), (3, 'Nordlab AS', 'Oslo');
CREATE TABLE orders (id INTEGER PRIMARY KEY, product TEXT, quantity INTEGER, total REAL, status TEXT, ordered DATE);
INSERT INTO orders VALUES
  (101, 'Orion X2', 2, 11800.0, 'shipped', '2025-01-14'), (102, 'Orion X3', 1, 8450.0, 'open', '2025-03-02'),
  (103, 'Lamp', 4, 1240.0, 'cancelled', '2025-03-09'), (104, 'Orion X2', 1, 5900.0, 'open', '2025-04-21'),
  (105, 'Filter', 10, 229.0, 'shipped', '2024-05-05'), (106, 'Lamp', 2, 971.0, 'open', '2024-05-17');
CREATE TABLE pumps (id INTEGER PRIMARY KEY, state TEXT);
INSERT INTO pumps VALUES (1, 'stopped'), (2, 'stopped'), (3, 'stopped'), (4, 'stopped'), (5, 'stopped'), (6, 'stopped');
"""
MANUAL = """# Orion X2

## Error codes

- E01: The lamp does not ignite.
- E02: Detector overheated. Switch off and wait 20 minutes.
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the shop and a base with the manual, which are only read."""
    folder = tmp_path_factory.mktemp("shop")
    fill(folder / "some.db", SCRIPT)
    with KnowledgeBase.open(load_settings({"knowledge_base": {"file": str(folder / "base.sqlite")}})) as base:
        base.add_documents([Document("x2.md", MANUAL, "text/markdown")])
    return folder


async def _asked(folder: Path, *questions: str) -> list[dict]:
    """The outputs of a conversation without a model, over the shop and a manual."""
    settings = load_settings({"knowledge_base": {"file": str(folder / "base.sqlite")}})
    tables = ["customers", "orders", "pumps"]
    return await talk_over(folder, SCRIPT, *questions, settings=settings, name="shop", tables=tables, index=None)


@pytest.mark.parametrize(
    ("first", "second", "counted"),
    [
        ("How many customers are from Graz?", "And from Linz?", "city = Linz: 1"),
        ("How many orders are open?", "And shipped?", "status = shipped: 2"),
        # Nothing ends the question before it, so both are one sentence.
        ("how many orders are open", "and shipped", "status = shipped: 2"),
        # Of another column it comes on top.
        ("How many orders are open?", "And of the Orion X2?", "status = open and product = Orion X2: 1"),
        ("How many orders are there in 2024?", "And in 2025?", "ordered >= 2025-01-01 and ordered < 2026-01-01: 4"),
    ],
)
async def test_a_follow_up_to_a_count_counts_what_it_names(shop, first, second, counted):
    output = (await _asked(shop, first, second))[1]
    assert (output["outcome"], computed(output)) == ("answered", [counted])


@pytest.mark.parametrize(
    ("second", "counted"),
    [
        # The boats with eight seats, or those that are called so.
        ("And with eight?", []),
        ("And with eight seats?", ["seats = 8: 2"]),
        ("And of the kind eight?", ["seats = 2 and kind = eight: 0"]),
        ("And pairs?", ["seats = 2 and kind = pair: 1"]),
    ],
)
async def test_what_may_be_a_number_of_what_was_asked_before_is_no_value_of_another_column(tmp_path, second, counted):
    script = """CREATE TABLE boats (name TEXT, kind TEXT, seats INTEGER); INSERT INTO boats VALUES
        ('Kingfisher', 'eight', 8), ('Barge', 'launch', 8), ('Moorhen', 'pair', 2), ('Swift', 'double', 2);"""
    first, output = await talk_over(tmp_path, script, "How many boats have two seats?", second)
    assert [computed(first), computed(output)] == [["seats = 2: 2"], counted]


async def test_a_follow_up_that_counts_nothing_gets_rows(shop):
    output = (await _asked(shop, "How many customers are from Graz?", "Which ones?"))[1]
    assert not computed(output)
    assert "Uni Graz" in output["answer"]


async def test_two_values_of_one_message_are_one_or_the_other(shop):
    (output,) = await _asked(shop, "How many open and shipped orders are there?")
    assert computed(output) == ["status = open or shipped: 5"]


async def test_what_was_computed_is_not_said_to_be_missing(shop):
    outputs = await _asked(shop, "How many orders have the status open?", "And how many are cancelled?")
    assert [output["outcome"] for output in outputs] == ["answered"] * 2
    assert computed(outputs[1]) == ["status = cancelled: 1"]
    assert not any("not done here" in note for output in outputs for note in output["notes"])


async def test_a_verb_that_sounds_like_an_average_computes_nothing(shop):
    (output,) = await _asked(shop, "What does E02 mean on the Orion X2?")
    assert output["outcome"] == "answered"
    assert "Detector overheated" in output["answer"]
    assert not any("average" in note for note in output["notes"])


async def test_a_value_that_no_column_holds_is_named(shop):
    (output,) = await _asked(shop, "How many customers are in Vienna?")
    assert output["outcome"] == "insufficient"
    assert (
        'Rows of customers were not counted: "Vienna" could not be read as a value of one of their columns.'
        in output["notes"]
    )


@pytest.mark.parametrize(
    "question",
    [
        # What no cell holds may be written otherwise, or be no value at all.
        "How many orders have the status cancelld?",
        "How many orders have status changes?",
        "How many customers with the name Bergmann GmbH have orders?",
        # Only what is asked for first is counted.
        "How many items were ordered?",
        "How many statuses are open?",
        "How many products are Orion X2?",
        "How many customers have open orders?",
        # Words and signs that are no content, and say something.
        "How many orders aren't open?",
        "How many orders can't be open?",
        "How many orders status != open?",
        "How many orders nicht open?",
        "How many orders were there by 2025?",
        "How many orders were there up to 2025?",
        "How many orders were there from 2025 on?",
        "How many orders were there as of 2025?",
        "Сколько orders было с марта 2025 года?",
        "Сколько orders было по 2025 год?",
        "Сколько orders было в этом году?",
        "How many very open orders are there?",
        "How many of my orders are open?",
        "How many orders are open again?",
        # Words that may be a condition.
        "How many current orders are there?",
        "How many registered customers are there?",
        # A value behind the name of another column.
        "How many orders with product open and status Lamp are there?",
    ],
)
async def test_what_says_more_than_names_and_values_is_not_counted(shop, question):
    (output,) = await _asked(shop, question)
    assert (output["outcome"], computed(output)) == ("insufficient", [])


@pytest.mark.parametrize(
    "questions",
    [
        ("How many orders are open?", "And how many are there overall?"),
        ("Which orders are open?", "How many are Lamp?"),
        ("How many customers are from Graz?", "And how many orders do they have?"),
        ("How many of them are open?",),
    ],
)
async def test_what_an_earlier_question_may_have_said_more_of_is_not_counted(shop, questions):
    output = (await _asked(shop, *questions))[-1]
    assert not computed(output)


ODD = """
CREATE TABLE events (title TEXT, first_name TEXT, last_name TEXT, day DATE, held BOOLEAN, state TEXT, not_paid BOOLEAN,
  open BOOLEAN, level TEXT, hall INTEGER);
INSERT INTO events VALUES
  ('Ball', 'Ann', 'Lee', '03.01.2021', 'yes', 'open', 1, 0, 'low', 'n/a'),
  ('Fair', 'Lee', 'Ann', '05.02.2021', 'no', 'open', 0, 1, 'not low', 3),
  ('Gala', 'Lee', 'Poe', NULL, NULL, 'new', 0, 1, NULL, 3);
CREATE TABLE visits
  (id INTEGER PRIMARY KEY, visitor_since DATE, guest_id INTEGER REFERENCES guests, express BOOLEAN, state TEXT);
INSERT INTO visits VALUES (1, '2021-01-01', 1, 1, 'new'), (2, '2022-01-01', 1, 0, 'new');
CREATE TABLE "offene posten" (posten TEXT, art TEXT, gruppe TEXT, "bezahlt am" DATE, bezahlt BOOLEAN);
INSERT INTO "offene posten" VALUES
  ('alt', 'offen', 'nicht neu', '2021-03-01', 0), ('neu', 'nicht offen', 'alt', NULL, 1);
"""


@pytest.mark.parametrize(
    ("question", "counted"),
    [
        # A date and a yes that are written in another way are values like any other.
        ("How many events were there in 2021?", None),
        ("How many events were on 3 January 2021?", None),
        ("How many events have the day 03.01.2021?", "day = 03.01.2021: 1"),
        ("How many events have been held?", None),
        ("How many events have hall n/a?", None),
        ("How many events have hall 3?", "hall = 3: 2"),
        # A column of yes and no that denies, and one that is also a value.
        ("How many events are paid?", None),
        ("How many events are open?", None),
        ("How many events have the state open?", "state = open: 2"),
        # In two columns: the name right before it decides, and no other.
        ("How many events are Lee?", None),
        ("How many events have the first name Lee?", "first_name = Lee: 2"),
        ("How many events with the first name Ann are Lee?", None),
        # A value may say what else is no content.
        ("How many events are not low?", None),
        ("How many events have the level not low?", None),
        ("Wie viele offene posten sind nicht offen?", None),
        ("Wie viele offene posten sind nicht neu?", None),
        # A word of the name of a table is no name by itself, nor is one the name of a column where it is the table's.
        ("Wie viele offene posten sind offen?", "art = offen: 1"),
        ("Wie viele offene posten sind alt?", None),
        ("Wie viele offene posten sind posten?", None),
        # A word of a column's name may set a limit.
        ("How many visits have visitor since 2021?", None),
        ("How many visits were there in 2021?", None),
        # A word names a column of days, or is a value.
        ("Wie viele offene posten gab es mit bezahlt am im März 2021?", None),
        ("How many offene posten were there in March 2021?", None),
        ("How many express visits are new?", "state = new and express = True: 1"),
        # The key of a partner is no number of partners.
        ("How many new guests are there?", None),
        # One word names one column.
        ("Wie viele offene posten gab es bezahlt am im März 2021?", None),
    ],
)
async def test_a_column_says_what_its_values_say(tmp_path, question, counted):
    (output,) = await talk_over(tmp_path, ODD, question, tables=["events", "visits", "offene posten"])
    assert (output["outcome"], computed(output)) == (("answered", [counted]) if counted else ("insufficient", []))


async def test_a_table_whose_name_holds_that_of_another_is_not_counted_where_the_other_may_be_meant(tmp_path):
    script = """CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT, payment TEXT);
        INSERT INTO orders VALUES (1, 'open', 'open'), (2, 'closed', 'open'), (3, 'open', 'paid');
        CREATE TABLE "open orders" (id INTEGER PRIMARY KEY, customer TEXT);
        INSERT INTO "open orders" VALUES (1, 'Acme'), (2, 'Nordlab'), (3, 'Acme'), (4, 'Graz');"""
    async with over_tables(tmp_path, script) as graph:
        unclear, clear = [
            (await talk(graph, question))[0]
            for question in ("How many open orders are there?", "How many orders are there?")
        ]
    assert (unclear["outcome"], computed(unclear)) == ("insufficient", [])
    assert computed(clear) == ["count of rows in orders: 3"]


async def test_what_is_a_value_and_the_name_of_another_table_is_not_read_as_the_value(tmp_path):
    script = """CREATE TABLE orders (id INTEGER PRIMARY KEY, kind TEXT);
        INSERT INTO orders VALUES (1, 'returns'), (2, 'sales'), (3, 'sales');
        CREATE TABLE returns (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders (id));
        INSERT INTO returns VALUES (1, 2), (2, 3);"""
    async with over_tables(tmp_path, script) as graph:
        unclear, clear = [
            (await talk(graph, question))[0]
            for question in ("How many orders have returns?", "How many orders have the kind returns?")
        ]
    assert computed(unclear) == []
    assert computed(clear) == ["kind = returns: 1"]


async def _counted_of(folder: Path, script: str, question: str) -> list[str]:
    """What is computed, from which condition on, over the tables that `script` makes."""
    return computed((await talk_over(folder, script, question))[0])


@pytest.mark.parametrize(
    ("question", "counted"),
    [
        ("How many employees have remote Y?", ["remote = Y or y: 3"]),
        ("How many employees are in IT?", ["unit = IT or It: 3"]),
    ],
)
async def test_a_value_that_is_a_plain_word_is_counted_however_it_is_written(tmp_path, question, counted):
    script = """CREATE TABLE employees (id INTEGER PRIMARY KEY, remote TEXT, unit TEXT);
        INSERT INTO employees VALUES (1, 'Y', 'IT'), (2, 'y', 'IT'), (3, 'Y', 'It'), (4, 'n', 'HR'), (5, 'N', 'HR');"""
    assert await _counted_of(tmp_path, script, question) == counted


async def test_the_name_of_a_table_that_a_question_was_not_routed_to_is_not_read_as_a_value_either(tmp_path):
    script = """CREATE TABLE teachers (id INTEGER PRIMARY KEY, name TEXT, subject TEXT);
        INSERT INTO teachers VALUES (1, 'Page', 'maths'), (2, 'Grand', 'art'), (3, 'Grand', 'music');
        CREATE TABLE classes (name TEXT PRIMARY KEY, teacher_id INTEGER REFERENCES teachers (id));
        INSERT INTO classes VALUES ('5a', 2), ('5b', 2), ('6a', 1);
        CREATE TABLE marks (id INTEGER PRIMARY KEY, teacher_id INTEGER REFERENCES teachers (id), mark INTEGER);
        INSERT INTO marks VALUES (1, 2, 5), (2, 2, 4), (3, 1, 3);
        CREATE TABLE pages (id INTEGER PRIMARY KEY, class TEXT);
        INSERT INTO pages VALUES (1, '5a'), (2, '6a');"""
    assert await _counted_of(tmp_path, script, "How many pages have teachers Grand?") == []


@pytest.mark.parametrize(
    ("question", "counted"),
    [
        # Who is called Berlin, or who works there: the requests have no column that tells the office.
        ("How many requests are from Berlin?", []),
        ("How many requests are from Kim?", ["employees.name = Kim: 2"]),
        ("How many employees work in Berlin?", []),
    ],
)
async def test_a_value_that_another_column_of_a_partner_holds_is_not_counted(tmp_path, question, counted):
    script = """CREATE TABLE employees (id INTEGER PRIMARY KEY, title TEXT, name TEXT, dept TEXT, office TEXT);
        INSERT INTO employees VALUES (1, 'Dr', 'Berlin', 'Sales', 'Linz'), (2, 'Dr', 'Kim', 'Sales', 'Berlin');
        CREATE TABLE requests (id INTEGER PRIMARY KEY, employee_id INTEGER REFERENCES employees (id));
        INSERT INTO requests VALUES (1, 1), (2, 2), (3, 2);"""
    assert await _counted_of(tmp_path, script, question) == counted


@pytest.mark.parametrize(
    ("question", "counted"),
    [
        ("How many staff have the language German?", []),
        ("How many German staff are there?", []),
        ("How many staff have the skill welding?", []),
        ("How many staff have the tag night?", []),
        ("How many staff have the language Czech?", ["language = Czech: 1"]),
        ("How many staff have the skill driving?", ["skill = driving: 1"]),
    ],
)
async def test_a_value_that_cells_list_beside_others_is_not_counted(tmp_path, question, counted):
    script = """CREATE TABLE staff (id INTEGER PRIMARY KEY, language TEXT, skill TEXT, tag TEXT);
        INSERT INTO staff VALUES (1, 'German', 'welding', 'night'), (2, 'English, German', 'welding/first aid', NULL),
        (3, 'Czech', 'driving', '["night","weekend"]');"""
    assert await _counted_of(tmp_path, script, question) == counted


@pytest.mark.parametrize("kind", ["DATE", "TEXT"])
@pytest.mark.parametrize(
    ("question", "counted"),
    [
        ("How many requests were there in March?", []),
        ("How many requests of April are open?", []),
        ("How many requests have the customer March?", ["customer = March: 2"]),
        # A column of months.
        ("How many requests were there in June?", ["period = June: 2"]),
    ],
)
async def test_a_month_that_somebody_is_called_is_not_counted_by_the_name(tmp_path, kind, question, counted):
    script = f"""CREATE TABLE requests (id INTEGER PRIMARY KEY, customer TEXT, agent TEXT, period TEXT, made {kind},
        state TEXT);
        INSERT INTO requests VALUES (1, 'March', 'Lee', 'June', '2025-03-01', 'open'),
        (2, 'March', 'April', 'June', '2025-06-01', 'open'), (3, 'Kim', 'Lee', 'July', '2025-03-02', 'done');"""
    assert await _counted_of(tmp_path, script, question) == counted


async def test_where_a_value_may_be_of_two_columns_rows_of_the_named_table_are_quoted(tmp_path):
    script = """CREATE TABLE employees (id INTEGER PRIMARY KEY, name TEXT, last TEXT, office TEXT);
        INSERT INTO employees VALUES (1, 'Kim', 'Hall', 'Paris'), (2, 'Lee', 'Berg', 'Paris'),
        (3, 'Paris', 'Hill', 'Linz');
        CREATE TABLE requests (id INTEGER PRIMARY KEY, employee_id INTEGER REFERENCES employees (id));
        INSERT INTO requests VALUES (7, 3);"""
    (output,) = await talk_over(tmp_path, script, "Which employees are in Paris?")
    quoted = [citation["location"]["shown"] for citation in output["citations"]]
    assert sorted(quoted) == ["table employees, key 1", "table employees, key 2", "table employees, key 3"]


@pytest.mark.parametrize(
    ("question", "counted"),
    [
        ("Сколько заказов из Тулы в Москву?", []),
        ("¿Cuántos заказы de Tula a Lima?", []),
        ("Сколько заказов из Тулы и Москвы?", ["город = Тула or Москва: 3"]),
        ("Сколько заказов в Туле и в Москве?", ["город = Тула or Москва: 3"]),
        ("How many заказы are in Tula and in Lima?", ["город = Tula or Lima: 2"]),
        ("How many заказы are in Tula, Lima?", ["город = Tula or Lima: 2"]),
    ],
)
async def test_a_way_from_one_value_to_another_is_not_counted_as_both(tmp_path, question, counted):
    script = """CREATE TABLE заказы (id INTEGER PRIMARY KEY, город TEXT);
        INSERT INTO заказы VALUES (1, 'Тула'), (2, 'Москва'), (3, 'Тула'), (4, 'Tula'), (5, 'Lima');"""
    assert await _counted_of(tmp_path, script, question) == counted


@pytest.mark.parametrize(
    ("question", "counted"),
    [
        ("How many orders were paid in March 2025?", []),
        ("How many orders were paid on 2 March 2025?", []),
        ("Wie viele orders wurden im März 2025 paid?", []),
        (
            "How many paid orders were there in March 2025?",
            ["paid = True and date >= 2025-03-01 and date < 2025-04-01: 1"],
        ),
        ("How many orders in March 2025 are paid?", ["paid = True and date >= 2025-03-01 and date < 2025-04-01: 1"]),
    ],
)
async def test_the_day_on_which_something_was_done_is_not_another_of_the_row(tmp_path, question, counted):
    script = """CREATE TABLE orders (id INTEGER PRIMARY KEY, date DATE, paid BOOLEAN);
        INSERT INTO orders VALUES (1, '2025-02-27', 1), (2, '2025-03-01', 1), (3, '2025-03-02', 0);"""
    assert await _counted_of(tmp_path, script, question) == counted


async def test_what_two_tables_can_be_asked_for_is_counted_in_neither(tmp_path):
    script = """CREATE TABLE orders (status TEXT); INSERT INTO orders VALUES ('open'), ('shipped'), ('open');
        CREATE TABLE open_orders (number INTEGER, open BOOLEAN); INSERT INTO open_orders VALUES (1, 0);"""
    questions = ("How many orders are there?", "How many open orders are there?", "How many open orders are open?")
    async with over_tables(tmp_path, script) as graph:
        counted = [computed(*await talk(graph, question)) for question in questions]
    assert counted == [["count of rows in orders: 3"], [], []]


@pytest.mark.parametrize(
    ("question", "counted"),
    [
        # Only 2025 has orders in March, and only 2024 in May, which is another word too.
        ("How many orders were there in March?", ["ordered >= 2025-03-01 and ordered < 2025-04-01: 2"]),
        (
            "How many open orders were there in March?",
            ["status = open and ordered >= 2025-03-01 and ordered < 2025-04-01: 1"],
        ),
        ("How many orders were there in August?", []),
        ("How many orders may be open?", []),
        ("Wie viele orders gab es im März?", ["ordered >= 2025-03-01 and ordered < 2025-04-01: 2"]),
        ("Wie viele orders hat Orion X3?", ["product = Orion X3: 1"]),
        ("Сколько orders было в апреле 2025 года?", ["ordered >= 2025-04-01 and ordered < 2025-05-01: 1"]),
    ],
)
async def test_a_month_by_itself_is_that_of_the_only_year_that_has_it(shop, question, counted):
    (output,) = await _asked(shop, question)
    assert computed(output) == counted
    assert output["outcome"] == ("answered" if counted else "insufficient")


@pytest.mark.parametrize("question", ["How many orders cost 11.50?", "How many orders of Müller GmbH were there?"])
async def test_what_was_not_read_is_told_as_it_was_said(shop, question):
    (output,) = await _asked(shop, question)
    said = "11.50" if "11.50" in question else "Müller GmbH"
    assert any(f'{said}" could not be read' in note for note in output["notes"])


@pytest.mark.parametrize(
    "question", ["Which orders are not open?", "Which orders aren't open?", "List all orders except open ones"]
)
async def test_rows_that_do_not_meet_a_condition_are_not_those_that_do(shop, question):
    (output,) = await _asked(shop, question)
    assert output["outcome"] == "insufficient"
    assert any("the rows that do not meet a condition" in note for note in output["notes"])


MEMBERS = """
CREATE TABLE members
  (id INTEGER PRIMARY KEY, name TEXT, hall INTEGER, joined DATE, "paid?" BOOLEAN, "weight-kg" INTEGER,
   sponsor INTEGER, birth_year INTEGER);
INSERT INTO members VALUES
  (1, 'Ann', 3, '2020-01-05', 1, 70, 1999, 1985), (2, 'Bob', 3, '2021-03-01', 0, 80, 1985, 1985),
  (3, 'Cy', 4, '2021-06-01', NULL, 80, 1999, 1990), (4, 'Di', 5, '2022-05-01', 1, 90, 1999, 1991);
"""


@pytest.mark.parametrize(
    ("question", "counted"),
    [
        ("How many members joined on 1 March 2021?", "joined >= 2021-03-01 and joined < 2021-03-02: 1"),
        ("How many members joined on March 1st, 2021?", "joined >= 2021-03-01 and joined < 2021-03-02: 1"),
        ("How many members joined on 2021-03-01?", "joined >= 2021-03-01 and joined < 2021-03-02: 1"),
        ("Wie viele members gab es mit joined am 1. März 2021?", "joined >= 2021-03-01 and joined < 2021-03-02: 1"),
        ("Сколько members было с joined 1 марта 2021 года?", "joined >= 2021-03-01 and joined < 2021-03-02: 1"),
        ("How many members joined in December 2021?", "joined >= 2021-12-01 and joined < 2022-01-01: 0"),
        ("How many members joined on 03/04/2021?", None),  # the third of April, or the fourth of March
        ("How many members joined on 31 February 2021?", None),
        ("How many members joined on 1 March?", None),
        ("How many members joined in 2021 in hall 3?", "hall = 3 and joined >= 2021-01-01 and joined < 2022-01-01: 1"),
        (
            "How many members joined in 2021 have the name Cy?",
            "name = Cy and joined >= 2021-01-01 and joined < 2022-01-01: 1",
        ),
        ("How many members joined in 2021 as Cy?", None),
        ("How many members were there in 2021?", None),  # that they joined then is not said
        ("How many of the 4 members are there?", None),  # a number by itself is no key
        ("How many members are in hall 3?", "hall = 3: 2"),
        ("How many members have id 2?", "id = 2: 1"),
        ("How many members have sponsor 1999?", "sponsor = 1999: 3"),
        # A year behind a word of a column's name, but not right behind it, is none of that column.
        ("How many members with a sponsor joined in 1999?", None),
        ("How many members have birth year 1985?", "birth_year = 1985: 2"),
        ("How many members have paid?", "paid? = True: 2"),
        ("How many members in hall 3 have paid?", "hall = 3 and paid? = True: 1"),
        ("How many members have weight-kg 80?", "weight-kg = 80: 2"),
    ],
)
async def test_a_number_is_a_day_or_a_value_of_the_column_before_it_and_nothing_else(tmp_path, question, counted):
    (output,) = await talk_over(tmp_path, MEMBERS, question, table="members")
    assert computed(output) == ([counted] if counted else [])
    assert (output["outcome"] == "answered") is (counted is not None)


async def test_rows_of_an_only_table_are_asked_for_by_the_name_of_a_column(tmp_path):
    async with over_tables(tmp_path, MEMBERS, table="members") as graph:
        for question in ("Who joined on 2021-03-01?", "Which members joined on 1 March 2021?"):
            (output,) = await talk(graph, question)
            assert output["outcome"] == "answered"
            assert ["Bob" in output["answer"], "Ann" in output["answer"]] == [True, False]


async def test_of_a_text_that_holds_dates_no_day_is_an_honest_none():
    records = [{"id": "a", "hired": "2021-03-01", "content": "Bob was hired."}]
    graph = turn_graph({"sources": [{"type": "sql", "backend": "memory", "name": "hr", "records": records}]})
    output = await graph.ainvoke("How many hr were hired on 1 March 2021?")
    assert (output["outcome"], computed(output)) == ("insufficient", [])
    await graph.resources.close()


async def test_a_value_is_one_though_a_column_is_named_by_another_form_of_it(tmp_path):
    script = """CREATE TABLE tickets (id INTEGER PRIMARY KEY, state TEXT, title TEXT, opened DATE);
        INSERT INTO tickets VALUES (1, 'closed', 'Two tickets open at once', '2024-03-01'),
        (2, 'open', 'Printer jams', '2024-03-05'), (3, 'open', 'No heating', '2025-03-01');"""
    questions = ("How many tickets are open?", "Which tickets are open?", "How many tickets were opened in March?")
    for content_field in (None, "title"):
        async with over_tables(tmp_path, script, table="tickets", content_field=content_field) as graph:
            counted, listed, opened = [(await talk(graph, question))[0] for question in questions]
        assert computed(counted) == ["state = open: 2"]
        assert ["Printer jams" in listed["answer"], "Two tickets" in listed["answer"]] == [True, False]
        # A title by itself does not show why it is there.
        assert computed(listed) == (["state = open: 2"] if content_field else [])
        assert not computed(opened)


async def test_things_are_not_counted_by_rows_that_say_how_many_each_is(shop):
    (output,) = await _asked(shop, "How many Orion X2 were ordered?")
    assert (output["outcome"], computed(output)) == ("insufficient", [])
    assert any('its column "quantity"' in note for note in output["notes"])
    (rows,) = await _asked(shop, "How many of the orders are open?")
    assert computed(rows) == ["status = open: 3"]


@pytest.mark.parametrize("question", ["How many tools are there?", "How many tools?"])
async def test_things_of_a_kind_are_not_counted_by_such_rows_either(tmp_path, question):
    script = """CREATE TABLE products (code TEXT PRIMARY KEY, category TEXT, quantity INTEGER);
        INSERT INTO products VALUES ('007', 'tool', 10), ('07', 'tool', 0), ('7', 'lamp', 5);"""
    assert await _counted_of(tmp_path, script, question) == []


async def test_all_rows_of_a_named_table_are_given_when_asked_for(shop):
    (output,) = await _asked(shop, "List all customers")
    assert output["outcome"] == "answered"
    assert all(name in output["answer"] for name in ("Uni Graz", "Bergmann GmbH", "Nordlab AS"))
    assert not computed(output)


async def test_how_many_rows_there_are_is_told_where_not_all_are_given(shop):
    (output,) = await _asked(shop, "Show all orders")
    assert output["outcome"] == "answered"
    assert computed(output) == ["count of rows in orders: 6"]
    assert output["answer"].count("product: ") == 4  # with the count as many as are given at most


async def test_all_rows_that_meet_the_conditions_are_quoted(shop):
    (output,) = await _asked(shop, "Which orders are open?")
    assert [f"id: {key}" in output["answer"] for key in range(101, 107)] == [False, True, False, True, False, True]


async def test_rows_leave_room_for_the_other_part_of_a_question(shop):
    (output,) = await _asked(shop, "Which orders are open? And what does error code E02 say?")
    assert "id: 106" in output["answer"]
    assert "Detector overheated" in output["answer"]


async def test_rows_that_were_found_alike_are_told_to_be_some(shop):
    (output,) = await _asked(shop, "Which pumps are noisily stopped?")
    assert [f"id: {key}" in output["answer"] for key in range(1, 6)] == [True] * 5
    assert "Rows that were found and fit the question alike: 5; quoted: 5; there may be more." in output["notes"]


async def test_what_kind_of_computing_is_needed_is_told_in_words(shop):
    (output,) = await _asked(shop, "When was the last order placed?")
    (note,) = [note for note in output["notes"] if "computed" in note]
    assert "which rows come before or after others" in note
    assert "(order)" not in note


@pytest.mark.covers("S8")
@pytest.mark.parametrize(
    "question",
    [
        "Orders that are not open",
        "Is there an order that is not open?",
        "Orders of the Orion X2, but no open ones",
        "Who is not from Graz?",
        "Customers except from Graz",
        "Kunden, die nicht aus Graz sind",
    ],
)
async def test_what_a_negation_rules_out_is_no_answer(shop, question):
    (output,) = await _asked(shop, question)
    assert output["outcome"] == "insufficient"


@pytest.mark.covers("S8")
async def test_a_follow_up_that_negates_is_answered_by_no_row_that_has_the_value(shop):
    outputs = await _asked(shop, "How many orders are open?", "And not shipped?")
    assert [output["outcome"] for output in outputs] == ["answered", "insufficient"]


async def test_a_negation_that_reaches_no_value_is_answered(shop):
    (output,) = await _asked(shop, "Which customer is from Graz, not only Linz?")
    assert output["outcome"] == "answered"


@pytest.mark.parametrize("question", ["Wie viel kostet der Orion X2?", "Сколько стоит Orion X2?"])
async def test_a_price_is_no_count(shop, question):
    (output,) = await _asked(shop, question)
    assert not any("Anzahl" in note or "количество" in note for note in output["notes"])
