"""The forms in which values are stored for filters, whatever the values are."""

from __future__ import annotations

import math

import pytest

from groundgraph.sources.weaviate_base.filters import stored_values, wanted_form

pytestmark = pytest.mark.covers("K11")

HUGE = 10**400


@pytest.mark.parametrize(
    "number", [HUGE, -HUGE, math.inf, -math.inf, math.nan], ids=["huge", "less", "inf", "-inf", "nan"]
)
def test_a_number_that_is_none_of_floating_point_is_stored_and_equal_to_itself_alone(number):
    stored = stored_values([number, 1])
    assert stored["number"] == [1.0]
    assert wanted_form(number) in stored["equal"]
    assert wanted_form(number) not in stored_values([1, 10**300, str(number)])["equal"]


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (10**22, 1e22), (-0.0, 0)])
def test_a_whole_number_is_the_same_whichever_type_it_has(one, other):
    assert wanted_form(one) == wanted_form(other)
    assert wanted_form(one) != wanted_form(str(one))


def test_lists_in_a_list_are_stored_as_filters_find_them():
    nested, flat = stored_values([["a", ["b"]], 1]), stored_values(["a", "b", 1])
    assert {name: sorted(values) for name, values in nested.items()} == {
        name: sorted(one) for name, one in flat.items()
    }
