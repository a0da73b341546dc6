"""Numbers keep their digits."""

from __future__ import annotations

import copy
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.core.evidence import jsonable
from groundgraph.core.exact_number import ExactNumber, exact_number, read_decimal, rounded_number, shown_number

pytestmark = pytest.mark.covers("S7")


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**24), max_value=10**24))
def test_what_is_shown_of_a_number_is_what_was_written(value):
    written = format(value, "f")
    assert Decimal(shown_number(exact_number(written))) == value
    assert Decimal(str(shown_number(read_decimal(value)))) == value
    assert float(exact_number(written)) == float(value)


@pytest.mark.parametrize(
    ("written", "kind", "shown"),
    [
        ("1.5", float, "1.5"),
        ("1.10", ExactNumber, "1.10"),
        ("0.000000012", ExactNumber, "0.000000012"),
        ("12345678901234567.89", ExactNumber, "12345678901234567.89"),
        ("1e400", ExactNumber, "1e400"),
    ],
)
def test_a_number_is_a_plain_float_where_that_has_the_same_digits(written, kind, shown):
    number = exact_number(written)
    assert type(number) is kind
    assert shown_number(copy.deepcopy(number)) == shown
    assert jsonable(number) == (1.5 if kind is float else shown)


def test_small_and_rounded_numbers_have_no_exponent():
    assert shown_number(3.4e-08) == "0.000000034"
    assert shown_number(1e300) == "1E+300"
    assert rounded_number(0.1 + 0.2, 12) == "0.3"
    assert rounded_number(exact_number("3.33333333333333333333"), 12) == "3.33333333333"


@pytest.mark.covers("fault 48")
@pytest.mark.parametrize(("value", "held"), [(2**63 - 1, 2**63 - 1), (2**64, str(2**64)), (-(2**70), str(-(2**70)))])
def test_a_whole_number_that_no_store_holds_is_kept_as_text(value, held):
    assert jsonable({"n": [value]}) == {"n": [held]}
