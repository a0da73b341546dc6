"""Turns whose question needs a computation, which a model proposes and the source runs."""

from __future__ import annotations

import json
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta

import pytest
from langchain_core.messages import HumanMessage
from shop_database import RELATIONS, shop

from groundgraph import InMemorySource, load_settings, turn_graph
from groundgraph.answers.propose_computation import read_proposal
from groundgraph.core.computation import ComputableTable
from groundgraph.core.errors import FilterInvalid, ModelError
from groundgraph.core.schema import SourceSchema
from groundgraph.sources.sql import SqlSource
from groundgraph.testing import Rule, ScriptedChatModel

pytestmark = pytest.mark.covers("R15", "A7")
SUM = {"table": "orders", "function": "sum", "field": "amount"}
NOTHING = {"function": "none"}
QUESTION = "What is the total amount of open orders?"


def _model(question: str, *proposals: object, queries: str = "") -> ScriptedChatModel:
    said = [one if isinstance(one, str | Exception) else json.dumps(one) for one in proposals]
    return ScriptedChatModel(
        rules=[
            Rule("Write search queries", queries or question),
            Rule("Your choice cannot be run", said[1] if len(said) > 1 else json.dumps(NOTHING)),
            Rule("has to be computed over the rows", said[0]),
        ],
        default="It is as computed [1].",
    )


async def _asked(folder, question: str, *proposals: object, queries: str = "", filters: dict | None = None) -> dict:
    model = _model(question, *proposals, queries=queries) if proposals else None
    intent = {"default_filters": {"shop": filters}} if filters else {}
    graph = turn_graph(
        load_settings({"intent": intent}),
        sources=[SqlSource(shop(folder), name="shop", tables=["orders"], relations=RELATIONS)],
        chat_model=model,
    )
    try:
        output = await graph.ainvoke({"messages": [HumanMessage(question)]})
    finally:
        await graph.resources.close()
    roles = [call["role"] for call in output["provenance"]["models"]]
    return {**output, "asked": sum(role.endswith("_computation") for role in roles)}


def _evidence(output: dict) -> list[str]:
    return [citation["quote"] for citation in output["citations"]]


@pytest.mark.parametrize("queries", ["", "amount of what is open"])
async def test_a_question_for_a_computation_is_answered_by_what_a_model_proposes(tmp_path, queries):
    output = await _asked(tmp_path, QUESTION, {**SUM, "filters": {"status": "open"}}, queries=queries)
    assert (output["outcome"], output["asked"]) == ("answered", 1)
    assert _evidence(output) == ["sum of amount in orders where status = open: 30.0 (over 2 rows)"]


@pytest.mark.parametrize(
    ("question", "first", "second", "kept"),
    [
        (
            "opened before 2 March 2026",
            {"opened": {"gte": "2026-03-02"}},
            {"opened": {"lt": "2026-03-02"}},
            "opened < ",
        ),
        ("with an amount over 15", {"amount": {"lt": 15}}, {"amount": {"gt": 15}}, "amount > 15"),
        # What rules something out turns the side round.
        ("with an amount of no more than 15", {"amount": {"gt": 15}}, {"amount": {"lte": 15}}, "amount <= 15"),
    ],
)
async def test_a_condition_keeps_the_side_of_its_value_that_the_words_ask_for(tmp_path, question, first, second, kept):
    asked = f"What is the total amount of orders {question}?"
    output = await _asked(tmp_path, asked, {**SUM, "filters": first}, {**SUM, "filters": second})
    assert (output["outcome"], output["asked"]) == ("answered", 2)
    assert kept in _evidence(output)[0]


async def test_without_a_model_it_is_insufficient_as_before(tmp_path):
    output = await _asked(tmp_path, QUESTION)
    assert (output["outcome"], output["asked"]) == ("insufficient", 0)


@pytest.mark.parametrize(
    ("question", "first", "second"),
    [
        # A date of another column than the one that is named.
        (
            "What is the total amount of orders opened in March 2026?",
            {**SUM, "filters": {"shipped": "March 2026"}},
            {**SUM, "filters": {"opened": "March 2026"}},
        ),
        # Conditions that the words set, and the proposal leaves out.
        (
            "What is the total amount of orders opened in March 2026?",
            SUM,
            {**SUM, "filters": {"opened": {"gte": "2026-03-01", "lte": "2026-03-31"}}},
        ),
        (QUESTION, SUM, {**SUM, "filters": {"status": "open"}}),
        # A value that nobody said, keys, no such field, no object.
        (QUESTION, {**SUM, "filters": {"status": "closed"}}, {**SUM, "filters": {"status": "open"}}),
        (QUESTION, {**SUM, "field": "customer"}, {**SUM, "filters": {"status": "open"}}),
        (QUESTION, {**SUM, "field": "price"}, {**SUM, "filters": {"status": "open"}}),
        (QUESTION, "I would add them up.", {**SUM, "filters": {"status": "open"}}),
    ],
)
async def test_what_does_not_fit_schema_and_words_is_asked_for_once_more(tmp_path, question, first, second):
    repaired = await _asked(tmp_path, question, first, second)
    assert (repaired["outcome"], repaired["asked"]) == ("answered", 2)
    assert _evidence(repaired)[0].endswith(": 30.0 (over 2 rows)")


async def test_two_proposals_that_cannot_be_run_leave_it_insufficient(tmp_path):
    output = await _asked(tmp_path, QUESTION, SUM, {**SUM, "field": "id"})
    assert (output["outcome"], output["asked"]) == ("insufficient", 2)
    assert not any(text.startswith("sum of") for text in _evidence(output))


async def test_a_date_is_not_guessed_where_the_words_name_none_of_several(tmp_path):
    question = "What is the total amount of orders in March 2026?"
    output = await _asked(tmp_path, question, {**SUM, "filters": {"opened": "March 2026"}})
    assert output["outcome"] == "insufficient"


@pytest.mark.parametrize("reply", [NOTHING, ModelError("down")])
async def test_a_model_that_has_none_or_fails_leaves_it_insufficient(tmp_path, reply):
    output = await _asked(tmp_path, QUESTION, reply)
    assert (output["outcome"], output["asked"]) == ("insufficient", 1)


@pytest.mark.parametrize(
    ("reply", "outcome"), [("Four days, by road [1].", "answered"), ("NO_ANSWER: a total", "insufficient")]
)
async def test_a_model_reads_the_texts_beside_rows_that_it_could_only_count(tmp_path, reply, outcome):
    model = ScriptedChatModel(
        rules=[
            Rule("Write search queries", "total amount of days of orders by road"),
            Rule("has to be computed over the rows", json.dumps(NOTHING)),
        ],
        default=reply,
    )
    road = "Orders that go by road are on their way for four days. Bulky orders take longer than small ones."
    graph = turn_graph(
        load_settings({}),
        sources=[
            SqlSource(shop(tmp_path), name="shop", tables=["orders"], relations=RELATIONS),
            InMemorySource([road, "The amount of salt in bread is two parts in a hundred."], name="texts"),
        ],
        chat_model=model,
    )
    output = await graph.ainvoke({"messages": [HumanMessage("What is the total amount of days of orders by road?")]})
    await graph.resources.close()
    assert output["outcome"] == outcome
    assert {row["source_name"] for row in output["provenance"]["results"]} == {"texts"}


async def test_without_a_threshold_rows_that_it_could_only_count_are_not_read_either(tmp_path):
    model = _model(QUESTION, NOTHING)
    graph = turn_graph(
        load_settings({"retrieval": {"answerable_threshold": None}}),
        sources=[SqlSource(shop(tmp_path), name="shop", tables=["orders"], relations=RELATIONS)],
        chat_model=model,
    )
    output = await graph.ainvoke({"messages": [HumanMessage(QUESTION)]})
    await graph.resources.close()
    assert output["outcome"] == "insufficient"
    assert any("would have to be computed" in note for note in output["notes"])
    assert output["citations"], "the rows are what comes closest"


async def test_filters_of_the_configuration_hold_for_what_is_computed_too(tmp_path):
    output = await _asked(tmp_path, "What is the total amount of orders?", SUM, filters={"customers.city": "Oslo"})
    assert _evidence(output) == ["sum of amount in orders where customers.city = Oslo: 80.0 (over 2 rows)"]


async def test_a_question_that_needs_no_computation_asks_for_none(tmp_path):
    output = await _asked(tmp_path, "Which order of Acme is open?", SUM)
    assert output["asked"] == 0


TWO = ("orders", "open orders")
COUNT = {"table": "orders", "function": "count"}
DISTINCT = {"table": "orders", "function": "distinct", "field": "customer"}


@pytest.mark.parametrize(
    ("question", "proposal"),
    [
        ("How many orders have no amount?", COUNT),
        ("How many orders have no amount?", {**COUNT, "filters": {"amount": None}}),
        ("How many orders have no status?", {**COUNT, "filters": {"status": ""}}),
        ("How many orders are without a customer?", COUNT),
        ("How many orders were cancelled?", COUNT),
        ("How many large orders are there?", COUNT),
        # A word that says little in most texts is a number here.
        ("Сколько orders с три amount?", {**COUNT, "field": "amount"}),
        ("How many orders are not open?", COUNT),
        ("How many orders are not open?", {**COUNT, "filters": {"status": "open"}}),
        ("How many open orders are there by now?", {**COUNT, "filters": {"status": {"not": "open"}}}),
        ("How many open orders did we have?", {**SUM, "filters": {"status": "open"}}),
        ("How many orders are there per city?", COUNT),
        ("What is the median amount of the orders?", {**SUM, "function": "average"}),
        ("What percentage of orders is open?", {**COUNT, "filters": {"status": "open"}}),
        ("How many more open than closed orders are there?", {**COUNT, "filters": {"status": "open"}}),
        ("How many orders are there on average?", COUNT),
        ("What is the highest amount of the orders?", {**SUM, "function": "min"}),
        ("What is the total amount of orders opened in 2026?", {**SUM, "filters": {"opened": {"lt": "2026-01-01"}}}),
        ("What is the total amount of orders with amount 20?", {**SUM, "filters": {"amount": {"gt": 20}}}),
        # One day of the period, or one at its end, is not the period.
        ("How many orders were opened in March 2026?", {**COUNT, "filters": {"opened": "2026-03-31"}}),
        ("How many orders were opened until 31 March 2026?", {**COUNT, "filters": {"opened": "2026-03-31"}}),
        ("How many orders were opened on 31 March 2026?", {**COUNT, "filters": {"opened": "2026-04-01"}}),
        # One number has no order and leaves no groups out, whatever a model fills in.
        ("What is the largest amount of the orders?", {**SUM, "order": "largest", "limit": 1}),
        ("What is the largest amount of the orders?", {**SUM, "function": "min", "order": "largest"}),
        ("Which customer has the most orders?", {**COUNT, "order": "largest", "limit": 1}),
        ("What are the 3 largest amounts of the orders?", {**SUM, "function": "max", "limit": 3}),
        ("How many orders have amount 50?", {**COUNT, "field": "amount"}),
        # Of every customer there is one customer; and all groups are asked for.
        ("Which customer has the most orders?", {**DISTINCT, "group_by": ["customers.name"], "order": "largest"}),
        ("How many orders are there for each status?", {**COUNT, "group_by": ["status"], "limit": 1}),
    ],
)
async def test_a_proposal_that_leaves_out_what_the_words_ask_for_is_refused(tmp_path, question, proposal):
    source = SqlSource(shop(tmp_path), name="shop", tables=["orders"], relations=RELATIONS)
    tables = await source.computing().tables(["orders"], {})
    await source.close()
    with pytest.raises(FilterInvalid):
        read_proposal(proposal, tables, question)


@pytest.mark.parametrize(
    ("question", "table"),
    [("How many Graz orders are there?", "open orders"), ("How many Graz open orders are there?", "orders")],
)
def test_of_tables_of_which_one_has_more_of_a_name_the_one_that_is_said_is_computed(question, table):
    schema = {name: SourceSchema(name, {"city": {"type": "string", "enum": ["Graz"]}}) for name in TWO}
    tables = [ComputableTable(name, schema[name], (), ()) for name in TWO]
    proposal = {"table": table, "function": "count", "filters": {"city": "Graz"}}
    with pytest.raises(FilterInvalid, match=f"rows of {table}"):
        read_proposal(proposal, tables, question)
    (said,) = {*TWO} - {table}
    assert read_proposal({**proposal, "table": said}, tables, question).table == said


@pytest.mark.parametrize(("state", "taken"), [("new", False), ("open", True)])
def test_a_column_of_yes_and_no_is_not_meant_where_its_word_is_a_value_of_another(state, taken):
    fields = {"is_new": {"type": "boolean"}, "state": {"type": "string", "enum": [state]}}
    tables = [ComputableTable("rooms", SourceSchema("rooms", fields), (), ())]
    proposal = {"table": "rooms", "function": "count", "filters": {"is_new": True}}
    with nullcontext() if taken else pytest.raises(FilterInvalid, match="is one of is_new"):
        assert read_proposal(proposal, tables, "How many new rooms are there?").filters == {"is_new": True}


async def test_what_is_refused_twice_is_told_to_be_missing(tmp_path):
    output = await _asked(tmp_path, "How many orders were cancelled?", COUNT, COUNT)
    assert (output["outcome"], output["asked"]) == ("insufficient", 2)
    assert not any(citation.get("computed") for citation in output["citations"])


@pytest.mark.parametrize(
    ("question", "proposal", "told"),
    [
        ("How many orders are not open?", {**COUNT, "filters": {"status": {"not": "open"}}}, ": 2 "),
        ("How many orders are outside Oslo?", {**COUNT, "filters": {"customers.city": {"not": "Oslo"}}}, ": 2 "),
        ("How many orders are there for each status?", {**COUNT, "group_by": ["status"]}, "closed: 2"),
        (
            "Which customer has the highest total amount?",
            {**SUM, "group_by": ["customers.name"], "order": "largest", "limit": 1},
            "70.0",
        ),
        ("How many pieces were ordered in total?", {**SUM, "field": "pieces"}, ": 8 "),
        ("How many orders have at least 2 pieces?", {**COUNT, "filters": {"pieces": {"gte": 2}}}, ": 3 "),
        ("What is the largest amount of the orders?", {**SUM, "function": "max", "order": "largest", "limit": 1}, "70"),
        (
            "How many orders were opened between 1 March 2026 and 31 March 2026?",
            {**COUNT, "filters": {"opened": {"gte": "2026-03-01", "lte": "2026-03-31"}}},
            ": 2 ",
        ),
    ],
)
async def test_a_proposal_that_accounts_for_every_word_is_run(tmp_path, question, proposal, told):
    output = await _asked(tmp_path, question, proposal)
    assert (output["outcome"], output["asked"]) == ("answered", 1)
    assert told in _evidence(output)[0]


TODAY = datetime.now(UTC).date()
BEFORE = (TODAY - timedelta(days=30)).isoformat()
PAID = {"paid": {"type": "boolean"}, "amount": {"type": "number"}, "city": {"type": "string"}, "day": {"type": "date"}}
SHOP = [ComputableTable("orders", SourceSchema("orders", PAID), ("amount",), ())]
TOP = {"field": "amount", "group_by": ["city"], "order": "largest", "limit": 1}
FIRST, SECOND = {"gte": "2026-01-01", "lte": "2026-03-31"}, {"gte": "2026-04-01", "lte": "2026-06-30"}
LAST = {"gte": BEFORE, "lte": TODAY.isoformat()}


@pytest.mark.parametrize(
    ("question", "proposal", "kept"),
    [
        # What is not so is what is ruled out.
        ("How many orders are not paid?", {**COUNT, "filters": {"paid": False}}, {"paid": False}),
        # An extreme of totals is none of single values or of averages.
        ("Which city has the highest total amount of orders?", {**TOP, "function": "sum"}, {}),
        ("Which city has the highest total amount of orders?", {**TOP, "function": "max"}, None),
        ("Which city has the highest total amount of orders?", {**TOP, "function": "average"}, None),
        ("Which city has the highest average amount of orders?", {**TOP, "function": "average"}, {}),
        # The number in "last 30 days" is said by the days, and the last ones end today.
        ("How many orders in the last 30 days?", {**COUNT, "filters": {"day": "last 30 days"}}, {"day": LAST}),
        ("How many orders in the last 30 days?", {**COUNT, "filters": {"day": {"gte": BEFORE}}}, {"day": LAST}),
        ("How many orders in the last 30 days?", {**COUNT, "filters": {"day": {"lte": BEFORE}}}, None),
        ("How many orders in the last 30 days?", {**COUNT, "filters": {"day": "last 60 days"}}, None),
        ("How many orders in the last 30 days?", COUNT, None),
        # A quarter is three months of its year, however it is called.
        ("How many orders in the first quarter of 2026?", {**COUNT, "filters": {"day": FIRST}}, {"day": FIRST}),
        ("How many orders in Q1 2026?", {**COUNT, "filters": {"day": "Q1 2026"}}, {"day": FIRST}),
        ("How many orders in Q1 2026?", {**COUNT, "filters": {"day": SECOND}}, None),
        ("How many orders in Q2 2026?", {**COUNT, "filters": {"day": SECOND}}, {"day": SECOND}),
        ("How many orders in the 2nd quarter of 2026?", {**COUNT, "filters": {"day": SECOND}}, {"day": SECOND}),
        ("Wie viele orders gab es im zweiten Quartal 2026?", {**COUNT, "filters": {"day": SECOND}}, {"day": SECOND}),
        ("Wie viele orders gab es im 2. Quartal 2026?", {**COUNT, "filters": {"day": SECOND}}, {"day": SECOND}),
        ("How many orders in the first quarter of 2026?", {**COUNT, "filters": {"day": {"gte": "2026-01-01"}}}, None),
        ("How many orders in the first quarter of 2026?", {**COUNT, "filters": {"day": "2026"}}, None),
        ("How many orders in the first quarter of 2026?", COUNT, None),
        # Each period that is said is held.
        (
            "How many orders between February and April 2026?",
            {**COUNT, "filters": {"day": {"gte": "2026-02-01"}}},
            None,
        ),
        (
            "How many orders between February and April 2026?",
            {**COUNT, "filters": {"day": {"gte": "2026-02-01", "lte": "2026-04-30"}}},
            {"day": {"gte": "2026-02-01", "lte": "2026-04-30"}},
        ),
    ],
)
def test_what_a_proposal_holds_is_what_was_asked_for(question, proposal, kept):
    with nullcontext() if kept is not None else pytest.raises(FilterInvalid):
        assert read_proposal(proposal, SHOP, question).filters == kept


STATES = {"id": {"type": "integer"}, "amount": {"type": "number"}, "state": {"type": "string", "enum": ["open"]}}
ROWS = {"table": "orders", "function": "max", "field": "amount", "group_by": ["id"], "order": "largest", "limit": 3}


@pytest.mark.parametrize(
    ("question", "change", "taken"),
    [
        ("Which are the three largest orders?", {}, True),
        ("Which are the three largest orders by amount?", {"function": "sum"}, True),
        ("Which three orders have the largest amount?", {}, True),
        ("Which are the three largest open orders?", {"filters": {"state": "open"}}, True),
        ("Was sind die drei größten orders?", {}, True),
        ("Which are the three largest open orders?", {}, False),
        ("Which are the three largest orders?", {"limit": 5}, False),
        ("Which are the three largest orders?", {"order": "smallest"}, False),
        ("Which are the three largest orders?", {"group_by": ["state"]}, False),
        ("Which are the three largest orders?", {"function": "count", "field": ""}, False),
        # Of another number than the one that the rows have.
        ("Which are the three latest orders?", {}, False),
        ("Which are the three longest orders?", {}, False),
        ("Which customer has the largest amount of orders?", {"limit": 1}, False),
    ],
)
def test_the_largest_rows_are_those_of_a_key_by_the_only_number(question, change, taken):
    tables = [ComputableTable("orders", SourceSchema("orders", STATES), ("amount",), (), "id")]
    with nullcontext() if taken else pytest.raises(FilterInvalid):
        assert read_proposal(ROWS | change, tables, question).group_by == ("id",)


async def test_of_several_numbers_the_largest_rows_are_by_the_one_that_is_named(tmp_path):
    unsaid, said = tmp_path / "unsaid", tmp_path / "said"
    unsaid.mkdir()
    said.mkdir()
    output = await _asked(unsaid, "Which are the three largest orders?", ROWS, ROWS)
    assert output["outcome"] == "insufficient"
    output = await _asked(said, "Which are the three orders with the largest amount?", ROWS)
    assert output["outcome"] == "answered"
    assert "\n3: 70.0\n4: 50.0\n2: 20.0\n" in _evidence(output)[0]


def test_a_table_may_be_named_in_another_form_than_its_own():
    table = ComputableTable("order", SourceSchema("order", {"customer_id": {"type": "integer"}}), ())
    given = {"function": "count", "filters": {"customer_id": 3}}
    assert read_proposal(given, [table], "How many orders does customer 3 have?").filters == {"customer_id": 3}
