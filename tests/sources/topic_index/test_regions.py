"""From what matches to the parts of documents (X1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.search.topics import Outline, Place
from groundgraph.settings.topics import HeadingMatchSettings
from groundgraph.sources.topic_index.heading_tree import (
    HeadingIndex,
    OutlineTree,
    Seed,
    common_heading,
    content_stems,
    outline_tree,
    regions,
)

pytestmark = pytest.mark.covers("X1")

CHAPTERS = [("A",), *(("A", f"a{n}") for n in range(5)), ("B",), ("B", "b0"), ("B", "b1"), ()]


def tree() -> OutlineTree:
    return outline_tree(Outline(1, [Place(str(n), "d", path) for n, path in enumerate(CHAPTERS)]))


def titles(found: list) -> list[str]:
    book = tree()
    return ["" if one.heading is None else book.headings[one.heading].title for one in found]


def test_most_of_the_strong_passages_in_several_branches_are_about_what_is_above_them():
    seeds = [Seed(n, 0.5) for n in (1, 2, 3, 4, 7)]
    assert titles(regions(tree(), [], seeds, 1)) == ["A", "b0"]


def test_a_few_passages_or_few_branches_are_about_themselves():
    book = tree()
    assert common_heading(book, [Seed(n, 0.5) for n in (1, 2, 3)], 1) is None
    assert common_heading(book, [Seed(n, 0.5) for n in (1, 2, 7, 8)], 1) is None
    assert common_heading(book, [Seed(n, 0.5, 1.0 if n == 1 else 0.6) for n in (1, 2, 3, 4)], 1) is None
    assert common_heading(book, [Seed(n, 0.5) for n in (1, 2, 3, 4)], 2) is None, "A is too shallow"


def test_the_best_passage_stands_for_what_is_below_its_heading_unless_another_is_as_good():
    alone = regions(tree(), [], [Seed(0, 0.9), Seed(7, 0.4, 0.5)], 1)
    assert [(title, one.whole) for title, one in zip(titles(alone), alone, strict=True)] == [("A", True), ("b0", False)]
    rival = regions(tree(), [], [Seed(0, 0.9), Seed(7, 0.9)], 1)
    assert [one.whole for one in rival] == [False, False]


def test_a_passage_below_no_heading_stands_for_itself():
    [region] = regions(tree(), [], [Seed(9, 0.9)], 1)
    assert (region.heading, region.seeds) == (None, [9])


def test_what_is_half_as_good_as_the_best_says_something_else():
    book = tree()
    number = {book.headings[n].title: n for n in range(len(book.headings))}
    matched = [(number["A"], 1.0), (number["b0"], 0.4)]
    assert titles(regions(book, matched, [Seed(8, 0.4, 0.3)], 1)) == ["A"]


def test_a_part_that_fits_better_than_the_whole_stands_before_it():
    book = tree()
    number = {book.headings[n].title: n for n in range(len(book.headings))}
    found = regions(book, [(number["a1"], 0.9), (number["A"], 0.6)], [], 1)
    assert titles(found) == ["a1", "A"]
    found = regions(book, [(number["A"], 0.9), (number["a1"], 0.6)], [], 1)
    assert titles(found) == ["A"]


@given(st.lists(st.tuples(st.integers(0, 9), st.floats(0.01, 1)), unique_by=lambda pair: pair[0], max_size=10))
def test_the_best_passage_is_in_the_first_region_that_has_one(pairs):
    seeds = [Seed(place, score) for place, score in sorted(pairs, key=lambda pair: -pair[1])]
    found = regions(tree(), [], seeds, 1)
    assert bool(found) == bool(seeds)
    if seeds:
        assert seeds[0].place in found[0].seeds
    held = [place for region in found for place in region.seeds]
    assert len(held) == len(set(held)), "no passage leads to two regions"


HEADINGS = [
    ("10. Security Considerations",),
    ("11. IANA Considerations",),
    ("4. Grants", "4.1. Implicit"),
    ("О безопасности",),
]


def matches(question: str, **settings: object) -> list[tuple[str, float]]:
    book = outline_tree(Outline(1, [Place(str(n), "d", path) for n, path in enumerate(HEADINGS)]))
    index = HeadingIndex.of(book)
    found = index.matches(question, HeadingMatchSettings(**settings))  # type: ignore[arg-type]
    return [(book.headings[number].title, round(score, 2)) for number, score in found]


def test_headings_match_by_stems_and_rare_words_count_more():
    found = matches("What are the security considerations?")
    assert found[0] == ("10. Security Considerations", 1.0)
    assert found[1][0] == "11. IANA Considerations"
    assert found[1][1] < 0.5
    assert matches("вопросы безопасности")[0][0] == "О безопасности"


def test_a_heading_above_says_where_and_not_what():
    assert matches("implicit grants")[0][0] == "4.1. Implicit"
    assert matches("implicit grants")[0][1] > matches("implicit flow")[0][1]


@given(st.text(max_size=60), st.integers(1, 8))
def test_any_question_has_stems_of_the_least_length_and_scores_between_0_and_1(question, length):
    settings = HeadingMatchSettings(min_word_length=length)
    assert len(content_stems(question, settings)) == len(set(content_stems(question, settings)))
    assert all(0 < score <= 1 for _, score in matches(question, min_word_length=length))
