"""Which parts of a long text are shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.report.room import excerpt
from groundgraph.report.words import Span, joined

pytestmark = pytest.mark.covers("V3")

texts = st.text(alphabet="ab \n", max_size=600)
places = st.lists(st.tuples(st.integers(0, 600), st.integers(1, 200)), max_size=5)


@given(texts, places, st.integers(1, 500))
def test_the_parts_are_apart_in_order_within_the_limit_and_show_every_quote(text, found, limit):
    spans = joined([Span(start, min(start + size, len(text))) for start, size in found if start < len(text)])
    parts = excerpt(text, spans, limit)
    assert all(start < end for start, end in parts)
    assert all(before[1] < behind[0] for before, behind in zip(parts, parts[1:], strict=False))
    assert parts == [] or (parts[0][0] >= 0 and parts[-1][1] <= len(text))
    if len(text) <= limit:
        assert parts == ([(0, len(text))] if text else [])
    else:
        assert sum(end - start for start, end in parts) <= max(limit, len(spans))
        assert all(any(start <= span.start < end for start, end in parts) for span in spans)


def test_a_quote_in_the_middle_of_a_long_text_is_shown_whole_with_what_stands_around_it():
    text = "word " * 1000 + "the quote." + " word" * 1000
    span = Span(5000, 5010)
    [(start, end)] = excerpt(text, [span], 400)
    assert "the quote." in text[start:end]
    assert 300 < end - start <= 400
    assert text[start - 1].isspace()
    assert text[end].isspace()


def test_without_a_quote_the_beginning_is_shown():
    assert excerpt("word " * 100, [], 203) == [(0, 199)]
