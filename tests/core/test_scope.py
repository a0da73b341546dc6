"""Which scope the evidence of a run belongs to."""

from __future__ import annotations

import pytest

from groundgraph.nodes.node import scope_token

pytestmark = pytest.mark.covers("F19", "fault 94")

FILTERS = {"notes": {"tenant": "context.tenant"}, "cases": {"owner": "user.identity"}}


def test_the_scope_is_that_of_all_values_that_the_filters_name_and_of_nothing_else():
    own = scope_token(FILTERS, {"tenant": "acme", "region": "north"}, {"identity": "ada", "name": "Ada"})
    assert own == scope_token(FILTERS, {"tenant": "acme"}, {"identity": "ada"})
    assert own == scope_token(dict(reversed(FILTERS.items())), {"tenant": "acme"}, {"identity": "ada"})
    others = [
        ({"tenant": "globex"}, {"identity": "ada"}),
        ({"tenant": "acme"}, {"identity": "bob"}),
        ({"tenant": "acme"}, None),
        ({}, {"identity": "ada"}),
        ({"tenant": ["acme"]}, {"identity": "ada"}),
        ({"tenant": "ada"}, {"identity": "acme"}),
    ]
    tokens = {scope_token(FILTERS, scope, user) for scope, user in others}
    assert len(tokens) == len(others)
    assert not tokens & {own, ""}


def test_without_scope_filters_there_is_no_scope_and_lists_have_no_order():
    assert scope_token({}, {"tenant": "acme"}, {"identity": "ada"}) == ""
    named = {"notes": {"tenant": "context.tenant"}}
    assert scope_token(named, {"tenant": ["a", "b"]}, None) == scope_token(named, {"tenant": ["b", "a"]}, None)
