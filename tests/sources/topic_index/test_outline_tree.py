"""Trees of headings, and what a heading stands for (X2), for any outline."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.search.topics import Outline, Place
from groundgraph.sources.topic_index.heading_tree import OutlineTree, capped, expanded, outline_tree

pytestmark = pytest.mark.covers("X2")

PATHS = st.lists(st.sampled_from("abc"), max_size=4).map(tuple)
OUTLINES = st.lists(st.tuples(st.sampled_from(["x", "y"]), PATHS), max_size=30)
MODES = st.sampled_from(["subtree", "children", "leaves"])


def tree_of(rows: list[tuple[str, tuple[str, ...]]]) -> OutlineTree:
    ordered = sorted(enumerate(rows), key=lambda row: (row[1][0], row[0]))
    return outline_tree(Outline(1, [Place(f"{d}#{n}", d, path) for n, (d, path) in ordered]))


@given(OUTLINES)
def test_every_passage_stands_below_the_headings_of_its_path_and_no_other(rows):
    tree = tree_of(rows)
    for number, place in enumerate(tree.places):
        above = tree.above[number]
        assert (() if above is None else tree.titles(above)) == place.headings
        holding = [h for h in range(len(tree.headings)) if number in tree.below(h)]
        assert holding == (tree.path(above) if above is not None else [])
        assert tree.at[place.id] == number


@given(OUTLINES)
def test_what_stands_below_a_heading_is_of_one_document(rows):
    tree = tree_of(rows)
    for number, heading in enumerate(tree.headings):
        assert len({tree.places[place].document for place in tree.below(number)}) == 1
        assert all(tree.headings[child].parent == number for child in heading.children)
        if heading.parent is not None:
            assert heading.depth == tree.headings[heading.parent].depth + 1


@given(OUTLINES, MODES, st.none() | st.integers(0, 4))
def test_an_expansion_is_in_order_below_its_heading_and_never_empty(rows, mode, depth):
    tree = tree_of(rows)
    for number in range(len(tree.headings)):
        found = expanded(tree, number, mode, depth)
        assert found
        assert found == sorted(set(found))
        assert set(found) <= set(expanded(tree, number, "subtree"))
        assert expanded(tree, number, "subtree") == list(tree.below(number))


@given(OUTLINES, st.integers(0, 4))
def test_a_deeper_look_gives_no_less(rows, depth):
    tree = tree_of(rows)
    for number in range(len(tree.headings)):
        level = len(tree.path(number))
        near = [p for p in tree.below(number) if len(tree.path(tree.above[p])) - level <= depth]  # type: ignore[arg-type]
        if near:
            assert expanded(tree, number, "subtree", depth) == near
        children = [tree.headings[child].first for child in tree.headings[number].children]
        if children:
            assert expanded(tree, number, "children") == children


@given(st.lists(st.integers(0, 50), unique=True).map(sorted), st.integers(0, 20), st.lists(st.integers(0, 50)))
def test_a_cap_keeps_the_order_and_prefers_what_led_there(places, limit, first):
    kept = capped(places, limit, first)
    assert kept == sorted(kept)
    assert len(kept) == min(limit, len(places))
    preferred = [place for place in dict.fromkeys(first) if place in places][:limit]
    assert set(preferred) <= set(kept)


@pytest.mark.covers("X1")
def test_a_heading_over_all_others_is_the_title_and_one_that_stands_alone_is_not():
    titled = tree_of([("x", ("Guide",)), ("x", ("Guide", "Setup"))])
    assert [heading.depth for heading in titled.headings] == [0, 1]
    plain = tree_of([("x", ("Setup",)), ("x", ("Use",)), ("y", ("Alone",))])
    assert [heading.depth for heading in plain.headings] == [1, 1, 1]


def test_a_nest_deeper_than_python_recurses():
    deep = tuple(f"h{n}" for n in range(3000))
    tree = tree_of([("x", deep)])
    assert expanded(tree, 0, "leaves") == [0]
