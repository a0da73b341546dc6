"""Text of others as HTML (fault 65)."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.report.words import Span, joined, marked, plain, visible

TAGS = re.compile(r"<i class=hc>U\+[0-9A-F]{4,6}(?: ×\d+)?</i>|</?mark(?: id=\"\w+\" tabindex=\"-1\")?>")
spans = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)).map(sorted), max_size=6)


@pytest.mark.covers("fault 65")
@pytest.mark.guard
@given(st.text(max_size=60))
def test_no_text_makes_a_tag_and_all_of_it_can_be_read(text):
    shown = str(visible(text))
    bare = TAGS.sub("", shown)
    assert not set("<>\"'") & set(bare)
    hidden = re.findall(r"U\+([0-9A-F]+)", "".join(TAGS.findall(shown)))
    assert all(ord(letter) not in {int(code, 16) for code in hidden} for letter in html.unescape(bare))


@pytest.mark.covers("fault 65")
@pytest.mark.parametrize(
    "letter", ["\u202e", "\u2066", "\u200b", "\ufeff", "\x00", "\x1b", "\x9b", "\u2028", "\U000e0041", "\ud800"]
)
def test_what_hides_or_reorders_text_is_shown_by_its_code_point(letter):
    name = f"U+{ord(letter):04X}"
    assert visible(f"a{letter}b") == f"a<i class=hc>{name}</i>b"
    assert visible(f"a{letter * 3}b") == f"a<i class=hc>{name} ×3</i>b"
    assert plain(f"a{letter}b") == f"a⟨{name}⟩b"


@pytest.mark.parametrize(
    "text", ["наука и жизнь", "שלום", "a\tb\nc", "👩\u200d👩\u200d👧", "می\u200cخواهم", "one\u2060two"]
)
def test_text_that_hides_nothing_stays_as_it_is(text):
    assert visible(text) == plain(text) == text


@pytest.mark.guard
@given(st.text(max_size=60), spans)
def test_marks_stand_at_their_offsets_and_change_no_text(text, places):
    wanted = [
        Span(start, min(end, len(text)), f"q{at}")
        for at, (start, end) in enumerate(places)
        if start < min(end, len(text))
    ]
    shown = str(marked(text, 0, len(text), joined(wanted)))
    assert TAGS.sub("", shown) == TAGS.sub("", str(visible(text)))
    inside = [html.unescape(TAGS.sub("", part)) for part in re.findall(r"<mark[^>]*>(.*?)</mark>", shown, re.DOTALL)]
    plain_inside = [html.unescape(TAGS.sub("", str(visible(text[one.start : one.end])))) for one in joined(wanted)]
    assert inside == plain_inside


def test_overlapping_marks_become_one_with_the_first_id():
    assert joined([Span(4, 9, "b"), Span(0, 5, "a"), Span(20, 22)]) == [Span(0, 9, "a"), Span(20, 22)]
    assert joined([Span(0, 5), Span(3, 9, "b")]) == [Span(0, 9, "b")]


def test_a_mark_that_a_cut_divides_has_its_id_once():
    text = "0123456789"
    parts = [str(marked(text, start, end, [Span(2, 8, "q1")])) for start, end in ((0, 5), (5, 10))]
    assert parts == ['01<mark id="q1" tabindex="-1">234</mark>', "<mark>567</mark>89"]
