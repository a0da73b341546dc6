"""Computations that a model proposes, run by the source: whatever is proposed, only what is declared is read."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shop_database import RELATIONS, SECRET, shop

from examples import examples
from groundgraph.core.computation import MOST_GROUPS, Proposal
from groundgraph.core.errors import FilterInvalid
from groundgraph.sources.sql import SqlSource

pytestmark = pytest.mark.covers("R15", "A7")


@pytest.fixture
async def source(tmp_path):
    found = SqlSource(shop(tmp_path), name="shop", tables=["orders"], relations=RELATIONS)
    yield found
    await found.close()


def orders(function: str, **more) -> Proposal:
    return Proposal("orders", function, **more)


@pytest.mark.parametrize(
    ("proposal", "content"),
    [
        (orders("count"), "count of rows in orders: 4 (over 4 rows)"),
        (
            orders("sum", field="amount", filters={"status": "open"}),
            "sum of amount in orders where status = open: 30.0 (over 2 rows)",
        ),
        (
            orders("distinct", field="customers.city"),
            "count of different values of customers.city in orders: 2 (over 4 rows)",
        ),
        (
            orders("average", field="amount", group_by=("customers.city",), filters={"opened": {"gte": "2026-01-01"}}),
            "average of amount in orders where opened >= 2026-01-01, by customers.city (over 3 rows):\n"
            "Oslo: 40.0\nRome: 20.0",
        ),
        (
            orders("sum", field="amount", group_by=("customers.name",), order="largest", limit=1),
            "sum of amount in orders, by customers.name, the largest first (over 4 rows):\n"
            "Bolt: 70.0\nmore groups have the value of the last one",
        ),
        (
            orders("count", group_by=("status", "customers.city"), order="smallest", limit=2),
            "count of rows in orders, by status and customers.city, the smallest first (over 4 rows):\n"
            "closed, Oslo: 1\nclosed, Rome: 1\nmore groups have the value of the last one",
        ),
        (
            orders("count", group_by=("customers.name",), order="largest", limit=1),
            "count of rows in orders, by customers.name, the largest first (over 4 rows):\nBolt: 2\n"
            "there are more groups",
        ),
        (orders("max", field="shipped"), "maximum of shipped in orders: 2026-05-06 (over 3 rows)"),
        (
            orders("sum", field="amount", filters={"opened": {"gt": "2030-01-01"}}),
            "sum of amount in orders where opened > 2030-01-01: there is none, since no row has a value (over 0 rows)",
        ),
    ],
)
async def test_a_proposal_is_computed_over_the_rows_that_it_says(source, proposal, content):
    result = await source.computing().run(proposal, {})
    assert result.content == content
    assert result.metadata["computed"] is True
    assert result.source_id.startswith("orders/computed:")


@pytest.mark.parametrize(
    ("proposal", "reason"),
    [
        (orders("sum", field="customer"), "holds keys, or no number"),
        (orders("average", field="id"), "holds keys"),
        (orders("max", field="buyer_id"), "holds keys"),
        (orders("sum", field="customers.id"), "holds keys"),
        (orders("sum", field="status"), "no number"),
        (orders("sum"), "is missing"),
        (orders("distinct"), "needs a field"),
        (orders("median", field="amount"), "no function"),
        (orders("sum", field="amounts"), "Did you mean 'amount'"),
        (orders("count", group_by=("word",)), "no field 'word'"),
        (orders("count", filters={"status": "shut"}), "shut"),
        (orders("count", filters={"customers.name": "ACME Ltd"}), "ACME Ltd"),
        (orders("count", limit=0), "limit"),
        (orders("count", limit=MOST_GROUPS + 1), "limit"),
        (orders("count", order="amount desc; drop table orders"), "order"),
        (Proposal("secrets", "count"), "no table 'secrets'"),
        (orders("count", group_by=("status", "customer", "pieces")), "at most 2"),
    ],
)
async def test_what_the_table_cannot_give_is_refused(source, proposal, reason):
    with pytest.raises(FilterInvalid, match=reason):
        await source.computing().run(proposal, {})


async def test_the_filters_of_the_run_hold_for_values_and_rows(source):
    held = {"status": "open"}
    [table] = await source.computing().tables(["orders", "secrets"], held)
    assert table.schema.fields["customers.name"]["enum"] == ["Acme", "Bolt"]
    assert table.numbers == ("amount", "pieces")
    result = await source.computing().run(orders("sum", field="amount", group_by=("status",)), held)
    assert result.content.endswith("(over 2 rows):\nopen: 30.0")
    with pytest.raises(FilterInvalid):
        await source.computing().run(orders("count", filters={"customers.name": "Core"}), held)


NAMES = st.sampled_from(
    ["orders", "customers", "secrets", "id", "customer", "amount", "status", "opened", "customers.city", "word",
     "rowid", "", "*", "amount) from secrets --", "orders; drop table orders", "(select word from secrets)"]
)  # fmt: skip
VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), NAMES, st.text(max_size=20), st.just("closed"))
CONDITIONS = st.one_of(
    VALUES,
    st.lists(VALUES, max_size=3),
    st.dictionaries(st.sampled_from(["gte", "lt", "not", "contains", "or", "$where"]), VALUES, max_size=2),
)
PROPOSALS = st.builds(
    Proposal,
    NAMES,
    st.sampled_from(["count", "distinct", "sum", "average", "min", "max", "none", "total(amount)", "load_extension"]),
    st.dictionaries(NAMES, CONDITIONS, max_size=2),
    NAMES,
    st.lists(NAMES, max_size=3).map(tuple),
    st.sampled_from(["", "largest", "smallest", "1; drop table orders"]),
    st.one_of(st.integers(-3, 10**9), st.just("1")),
)


@pytest.mark.guard
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=examples(150, quick=40)
)
@given(PROPOSALS, st.booleans())
def test_whatever_is_proposed_only_what_is_declared_and_let_see_is_read_and_nothing_written(
    tmp_path_factory, proposal, as_valid
):
    file = shop(tmp_path_factory.mktemp("shop"))
    before = hashlib.sha256(file.read_bytes()).digest()

    async def tried() -> str:
        source = SqlSource(file, name="shop", tables=["orders"], relations=RELATIONS)
        try:
            # Most would be refused for their table or limit alone.
            asked = replace(proposal, table="orders", limit=5) if as_valid else proposal
            result = await source.computing().run(asked, {"status": "open"})
        except FilterInvalid:
            return ""
        finally:
            await source.close()
        assert len(result.metadata["groups"]) <= MOST_GROUPS
        assert result.metadata["rows"] <= 2
        return result.content

    content = asyncio.run(tried()).partition(":")[2]
    assert SECRET not in content
    assert not any(closed in content for closed in ("Core", "70.0", "2026-05-05"))
    assert hashlib.sha256(file.read_bytes()).digest() == before
