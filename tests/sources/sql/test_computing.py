"""Counting and the like (R15): through the same filters, or said to be needed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from asking import ask, opened
from growth import growth
from plant_database import fill

from groundgraph.core.computation import Proposal
from groundgraph.core.errors import FilterInvalid
from groundgraph.sources.sql import SqlSource
from groundgraph.sources.sql.shape import Column, TableShape
from groundgraph.sources.sql.values_in_question import with_digits

pytestmark = pytest.mark.covers("R15")


@pytest.fixture
async def incidents(plant):
    return opened(SqlSource(plant, table="incidents", name="plant", text_search_fields=["title", "month"]))


async def by_rule(source, question, **filters):
    return (await ask(source, question, **filters))[0]


@pytest.mark.parametrize(
    ("question", "function", "field", "filters", "value"),
    [
        ("How many critical incidents in March?", "count", None, {"severity": "critical", "month": "March"}, 2),
        ("how many incidents were there in total", "count", None, {}, 5),
        ("What is the number of incidents with severity low?", "count", None, {"severity": "low"}, 2),
        (
            "How many critical incidents in March 2026?",
            "count",
            None,
            {"severity": "critical", "day": {"gte": "2026-03-01", "lt": "2026-04-01"}},
            2,
        ),
    ],
)  # fmt: skip
async def test_a_question_is_read_by_rule(incidents, question, function, field, filters, value):
    result = await by_rule(incidents, question)
    assert result.metadata.get("computed"), result.content
    found = {name: result.metadata[name] for name in ("function", "field", "filters", "value")}
    assert found == {"function": function, "field": field, "filters": filters, "value": pytest.approx(value)}


@pytest.mark.covers("A7")
@pytest.mark.parametrize(
    ("question", "needs"),
    [
        ("average duration of critical incidents", "average"),
        ("total duration of the incidents in April", "sum"),
        ("the highest duration of an incident in March", "max"),
    ],
)
async def test_any_other_computation_is_said_to_be_needed(incidents, question, needs):
    result = await by_rule(incidents, question)
    assert result.metadata["needs_computation"] is True
    assert result.metadata["needs"] == needs


@pytest.mark.covers("A7")
async def test_of_several_date_columns_the_named_or_the_declared_one_is_meant(tmp_path):
    rows = [("Leak", "2026-03-02", "2026-04-01"), ("Noise", "2026-02-20", "2026-03-01")]
    path = fill(tmp_path / "d.db", "CREATE TABLE tickets (title TEXT, opened DATE, closed DATE)", tickets=rows)
    plain = opened(SqlSource(path, name="plant"))
    named = await by_rule(plain, "How many tickets were closed in March 2026?")
    assert (named.metadata["filters"].keys(), named.metadata["value"]) == ({"closed"}, 1)
    assert (await by_rule(plain, "How many tickets in March 2026?")).metadata.get("needs_computation")
    declared = opened(SqlSource(path, name="plant", schema=[{"name": "opened", "type": "date"}]))
    meant = await by_rule(declared, "How many tickets in February 2026?")
    assert (meant.metadata["filters"].keys(), meant.metadata["value"]) == ({"opened"}, 1)


@pytest.mark.covers("A7")
@pytest.mark.parametrize(("ended", "meant"), [("2026-02-20", "ended"), ("02.03.2026", None)])
async def test_a_table_s_own_column_is_meant_and_not_its_partner_s_of_that_name_be_it_no_date(ended, meant, tmp_path):
    script = """
    CREATE TABLE orders (id INTEGER PRIMARY KEY, ended DATE);
    CREATE TABLE visits (title TEXT, ended DATE, order_id INTEGER);
    """
    path = fill(tmp_path / "d.db", script, orders=[(1, "2026-03-02")], visits=[("Repair", ended, 1)])
    source = opened(SqlSource(path, name="plant", table="visits", relations=["visits.order_id = orders.id"]))
    read = await by_rule(source, "How many visits have ended in March 2026?")
    assert next(iter(read.metadata.get("filters") or [None])) == meant
    assert read.metadata.get("value", 0) == 0


@pytest.mark.covers("A7")
@pytest.mark.parametrize(
    ("column", "counted"), [("customer_since", None), ("customer_until", None), ("customer_date", 1)]
)
async def test_the_name_of_a_table_names_none_of_its_days(column, counted, over):
    source = over(f"CREATE TABLE customer (id INTEGER PRIMARY KEY, {column} DATE)", customer=[(1, "2021-03-02")])
    assert (await by_rule(source, "Wie viele customer gab es 2021?")).metadata.get("value") == counted


@pytest.mark.covers("A7")
@pytest.mark.parametrize(
    ("question", "value"),
    [("Has lease L-1002 ended?", None), ("How many leases ended in 1002?", 0), ("How many leases ended in 2024?", 1)],
)
async def test_the_digits_of_a_code_are_no_year(question, value, over):
    rows = [("L-1001", "active", "2026-03-31"), ("L-1002", "ended", "2024-10-14")]
    source = over("CREATE TABLE leases (lease_no TEXT PRIMARY KEY, status TEXT, ends DATE)", leases=rows)
    assert (await by_rule(source, question)).metadata.get("value") == value


@pytest.mark.covers("A7")
@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("How many boats have two seats?", 2),
        ("Wie viele boats haben acht seats?", 1),
        ("How many boats have twenty two seats?", None),
        ("How many boats have two?", None),
        ("How many boats have more than two seats?", None),
    ],
)
async def test_a_number_in_words_before_the_name_of_a_column_is_read_as_one_in_digits(question, value, over):
    boats = [("Swift", 2), ("Moorhen", 2), ("Heron", 8), ("Barge", 22)]
    source = over("CREATE TABLE boats (name TEXT, seats INTEGER)", boats=boats)
    assert (await by_rule(source, question)).metadata.get("value") == value


@pytest.mark.covers("A7", "L20")
def test_numbers_in_words_before_the_name_of_a_column_are_read_in_linear_time():
    boats = TableShape("boats", (Column("seats", "integer", "INTEGER"),), (), "", None, ())
    assert not growth(
        lambda text: with_digits([text], [boats]), lambda size: "two seats " * (size // 10), (4096, 16384)
    )


@pytest.mark.covers("A7")
async def test_a_column_that_is_asked_for_is_not_summed(over):
    source = over("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INT)", orders=[(1, 101), (2, 7)])
    result = await by_rule(source, "How many customers are there?")
    assert "computed" not in result.metadata


async def test_the_callers_filters_hold_beside_those_of_the_question(incidents):
    assert (await by_rule(incidents, "How many critical incidents?", month="April")).metadata["rows"] == 1
    assert (await by_rule(incidents, "How many incidents?", month="April")).metadata["rows"] == 2


async def test_values_that_a_filter_hides_are_not_known_unless_they_are_declared(plant):
    for enum, known in ((None, False), (["low", "critical"], True)):
        schema = {"severity": {"type": "string", **({"enum": enum} if enum else {})}}
        source = opened(SqlSource(plant, table="incidents", name="plant", schema=schema))
        result = await by_rule(source, "How many critical incidents?", severity="low")
        assert bool(result.metadata.get("computed")) is known
        assert result.metadata.get("rows", 0) == 0


@pytest.mark.parametrize(
    "question",
    [
        "Which incident had the longest duration?",
        "How many more incidents were critical than low?",
        "What is the difference between the incidents of March and April?",
        "What percentage of incidents was critical?",
        "What is the median duration of the incidents?",
        "How many incidents were not critical?",
        "How many incidents did Alice report?",
        "How many purple incidents?",
    ],
)
async def test_what_cannot_be_computed_is_said_to_need_it(incidents, question):
    result = await by_rule(incidents, question)
    assert result.metadata.get("needs_computation") is True, result.content
    assert "needs a computation" in result.content


@pytest.mark.parametrize("question", ["What happened with the valve?", "Where was the pump noise?", "fire alarm"])
async def test_any_other_question_gets_rows(incidents, question):
    result = await by_rule(incidents, question)
    assert not {"computed", "needs_computation"} & set(result.metadata)


async def test_a_column_that_is_named_like_a_computation_is_looked_up(over):
    source = over(
        "CREATE TABLE companies (name TEXT, number_of_employees INT, average_age REAL, first_product TEXT)",
        companies=[("Acme", 12, 40.5, "anvil"), ("Globex", 30, 35.0, "bolt")],
    )
    for question in (
        "What is the number of employees of Acme?",
        "average age at Acme",
        "What is the first product of Acme?",
    ):
        result = await by_rule(source, question)
        assert result.metadata.get("name") == "Acme"


@pytest.mark.covers("A7")
@pytest.mark.parametrize("question", ["How many hours per week does Ann work?", "How many hours does Ann work?"])
async def test_a_number_that_a_column_holds_needs_no_count_whatever_verb_is_asked_with(question, over):
    source = over("CREATE TABLE staff (name TEXT, hours_per_week INT)", staff=[("Ann", 25), ("Bob", 40)])
    result = await by_rule(source, question)
    assert result.metadata.get("name") == "Ann", result.content


async def test_questions_in_russian(over):
    rows = [("Течь", "критический", "март", 3), ("Шум", "низкий", "март", 1), ("Дым", "критический", "март", 5)]
    source = over(
        "CREATE TABLE инциденты (название TEXT, важность TEXT, месяц TEXT, длительность INT)",
        инциденты=rows,
    )
    counted = await by_rule(source, "Сколько критических инцидентов было в марте?")
    assert counted.metadata["value"] == 2
    needed = await by_rule(source, "Какова средняя длительность инцидентов в марте?")
    assert needed.metadata["needs"] == "average"
    assert (await by_rule(source, "Какой инцидент был самый длинный?")).metadata["needs_computation"]
    assert (await by_rule(source, "Какова медиана длительности инцидентов?")).metadata["needs"] == "statistic"


async def test_texts_that_are_numbers_are_computed_when_they_are_declared_so(over):
    source = over(
        "CREATE TABLE sales (city TEXT, income TEXT)",
        {"schema": [{"name": "income", "type": "number"}]},
        sales=[("Oslo", "1,200"), ("Oslo", "300.5"), ("Oslo", "n/a"), ("Rome", "7"), ("Rome", None)],
    )
    result = await source.computing().run(Proposal("sales", "sum", field="income"), {"city": "Oslo"})
    assert result.metadata["value"] == 1500.5
    assert "1 row was left out" in result.content
    rows = await ask(source, "Oslo", income={"gte": 1000})
    assert [row.metadata["income"] for row in rows] == [1200]


@pytest.mark.parametrize(
    ("rows", "question", "value"),
    [
        ([{"name": "packaging", "licence": "MIT"}], "How many packages are there?", None),
        ([{"name": "packaging", "licence": "MIT"}], "How many distributions are packaging?", 1),
        ([{"город": "Москва", "цех": "литейный"}], "Сколько distributions в Москве?", 1),
        ([{"status": "open"}, {"status": "OPEN"}], "How many open distributions are there?", 2),
        ([{"language": "C"}, {"language": "C++"}, {"language": "C++"}], "How many C++ distributions are there?", 2),
        ([{"language": "C"}, {"language": "C++"}, {"language": "C++"}], "How many C distributions are there?", 1),
        ([{"grade": "A+"}, {"grade": "B"}], "How many A+ distributions are there?", None),
        ([{"level": -3}, {"level": 3}, {"level": 3}], "How many distributions have level 3?", 2),
    ],
)
async def test_only_a_value_that_was_said_becomes_a_condition(rows, question, value):
    source = opened(SqlSource.from_records(rows, name="d", table="distributions"))
    found = await ask(source, question)
    assert [r.metadata["value"] for r in found if r.metadata.get("computed")] == ([] if value is None else [value])


BOOKINGS = "CREATE TABLE bookings (guest TEXT, arrival DATE, state TEXT, paid BOOLEAN)"
BOOKED = [
    ("May", "2026-05-01", "confirmed", True),
    ("June", "2026-05-02", "cancelled", False),
    ("Ann", "2026-06-01", "confirmed", True),
    ("Bob", "2026-06-09", "no show", False),
]


@pytest.mark.parametrize(
    ("question", "value"),
    [
        # No row has two values in one column: one or the other is meant where "and" or a comma stands between them.
        ("How many confirmed and cancelled bookings are there?", 3),
        ("How many bookings were confirmed or cancelled?", 3),
        ("How many confirmed, cancelled or no show bookings are there?", 4),
        ("How many confirmed/cancelled bookings are there?", 3),
        ("How many bookings have state confirmed and state cancelled?", 3),
        ("How many confirmed cancelled bookings are there?", None),
        ("How many confirmed bookings were cancelled?", None),
        ("How many confirmed and paid bookings were cancelled?", None),
        ("Wie viele confirmed bookings sind cancelled?", None),
        # People who are called like months make a column of names none of months, and "may" is nobody.
        ("How many bookings are there in May?", None),
        ("How many bookings may be cancelled?", None),
        ("How many bookings has guest May?", 1),
    ],
)
async def test_values_are_counted_by_what_joins_them_and_a_month_is_nobody(question, value, over):
    result = await by_rule(over(BOOKINGS, bookings=BOOKED), question)
    assert result.metadata.get("value") == value, result.content


@pytest.mark.covers("A7")
async def test_a_count_of_what_no_table_holds_is_left_to_documents(over):
    source = over(
        "CREATE TABLE machines (name TEXT, service_interval_days INT)",
        machines=[("Press P1", 90), ("Mill F2", 60)],
    )
    of_documents = await ask(source, "How many days of holiday do I get?")
    assert not any("needs_computation" in result.metadata for result in of_documents)
    assert (await by_rule(source, "How many days pass between two services of the press?")).metadata["needs"] == "count"


@pytest.mark.covers("A7")
@pytest.mark.parametrize(
    ("question", "needs"),
    [
        ("What does E02 mean on the Orion X2?", False),
        ("What does quantity mean for the Orion X2?", False),
        ("What is the mean quantity of the Orion X2?", True),
        ("What is the maximum quantity of the Orion X2?", True),
    ],
)
async def test_what_means_something_needs_no_mean(over, question, needs):
    source = over("CREATE TABLE orders (product TEXT, quantity INT)", orders=[("Orion X2", 2), ("Orion X3", 1)])
    found = await ask(source, question)
    assert any("needs_computation" in result.metadata for result in found) is needs


@pytest.mark.parametrize(
    ("question", "value"),
    [("How many order items are there?", 3), ("How many order items have the unit price 2?", 2)],
)
async def test_names_that_are_joined_by_capitals_are_said_with_spaces(tmp_path, question, value):
    script = "CREATE TABLE OrderItems (Id INTEGER PRIMARY KEY, UnitPrice INTEGER)"
    path = fill(tmp_path / "shop.db", script, OrderItems=[(1, 2), (2, 2), (3, 5)])
    found = await by_rule(opened(SqlSource(path, name="shop")), question)
    assert found.metadata.get("value") == value, found.content


@pytest.mark.parametrize("group_by", [(), ("hall",)])
async def test_a_sum_beyond_all_numbers_is_no_outcome(over, group_by):
    source = over("CREATE TABLE loads (hall TEXT, tons REAL)", loads=[("a", 1e308), ("a", 1e308), ("a", -1.0)])
    proposal = Proposal("loads", "sum", field="tons", group_by=group_by)
    with pytest.raises(FilterInvalid, match="no finite number"):
        await source.computing().run(proposal, {})
    assert (await source.computing().run(replace(proposal, function="max"), {})).metadata["computed"]
