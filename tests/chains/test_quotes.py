"""Quotes first: an answer without a model (S7)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.answers.quotes import MAX_QUOTES, select_quotes
from groundgraph.answers.sentence_index import sentences_of
from groundgraph.core.evidence import SourceResult

SENTENCES = [
    "A refresh token lets a client get a new access token. ",
    "Access tokens expire after one hour by default. ",
    "The weather in Paris is mild in spring. ",
    "Токен доступа действует один час. ",
    "# Token expiry of clients\n\n",
    "| token | expires | after | hour |\n|--|--|--|--|\n",
    "👩\u200d💻 tokens של client expire now. ",
    "\n\n",
]
EVIDENCE = st.lists(st.lists(st.sampled_from(SENTENCES), max_size=8).map("".join), max_size=6)
QUESTIONS = st.sampled_from(
    ["When do access tokens expire?", "Сколько действует токен?", "weather", "", "what is the?", "👩\u200d💻", "zebra"]
)


def result(content: str) -> SourceResult:
    return SourceResult(content, "id", "docs", "memory")


@pytest.mark.covers("S7")
@given(EVIDENCE, QUESTIONS)
def test_quotes_are_verbatim_sentences_of_the_evidence_with_its_label(contents, question):
    quotes = select_quotes(question, [result(content) for content in contents])
    assert len(quotes) <= MAX_QUOTES
    for quote in quotes:
        content = contents[quote.label - 1]
        assert quote.text == content[quote.start : quote.end]
        assert (quote.start, quote.end) in {(one.start, one.end) for one in sentences_of(content) if one.quotable}
        assert 0 < quote.score <= 1 + 1e-9


@pytest.mark.covers("S7")
@given(EVIDENCE, QUESTIONS)
def test_quotes_are_deterministic_and_distinct(contents, question):
    evidence = [result(content) for content in contents]
    quotes = select_quotes(question, evidence)
    assert quotes == select_quotes(question, evidence)
    assert len({quote.text for quote in quotes}) == len(quotes)


@pytest.mark.covers("A12", "L17")
def test_the_quote_that_is_worth_most_stands_first_wherever_it_stands_in_the_document():
    text = "Pumps are kept in hall 3. Valves are green. Pump 17 is serviced by the crew every 90 days."
    quotes = select_quotes("How often is pump 17 serviced by the crew?", [result(text), result("Pump 17 is old.")])
    assert quotes[0].text == "Pump 17 is serviced by the crew every 90 days."
    assert [quote.label for quote in quotes][0] == 1


@pytest.mark.covers("S7")
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How long until access tokens expire?", "Access tokens expire after one hour by default."),
        ("What is the weather in Paris like?", "The weather in Paris is mild in spring."),
        ("Сколько действует токен доступа?", "Токен доступа действует один час."),
    ],
)
def test_a_question_about_one_thing_quotes_the_sentence_that_answers(question, answer):
    evidence = [result("".join(SENTENCES[:2])), result("".join(SENTENCES[2:4]))]
    assert answer in [quote.text for quote in select_quotes(question, evidence)]
    best = max(select_quotes(question, evidence), key=lambda quote: quote.score)
    assert best.text == answer


@pytest.mark.covers("S7")
@pytest.mark.parametrize("question", ["zebra crossings", "", "?!", "👩\u200d💻"])
def test_a_question_that_shares_no_word_is_given_no_quote(question):
    assert select_quotes(question, [result("".join(SENTENCES[:4]))]) == []


@pytest.mark.covers("S7")
@pytest.mark.parametrize(
    "content",
    ["# When access tokens expire today", "| access | tokens | expire | when |", "```\naccess tokens expire when\n```"],
)
def test_headings_tables_and_code_are_not_quoted(content):
    assert select_quotes("When do access tokens expire?", [result(content)]) == []


@pytest.mark.covers("S7")
def test_of_equal_sentences_the_one_from_better_evidence_is_quoted_once():
    quotes = select_quotes("weather in Paris", [result(SENTENCES[2]), result(SENTENCES[2])])
    assert [quote.label for quote in quotes] == [1]


@pytest.mark.covers("S7")
def test_a_limit_of_none_quotes_nothing():
    assert select_quotes("weather", [result(SENTENCES[2])], limit=0) == []


@pytest.mark.covers("S7")
def test_what_a_text_stands_under_counts_by_half():
    body = "It was first shown in 1931. Many people came to see it."
    bare, titled = result(body), SourceResult(body, "id", "docs", "memory", metadata={"title": "Widget"})
    assert select_quotes("When was the widget shown?", [bare])[0].score < 1
    assert len(select_quotes("When was the widget shown?", [bare])) == 1
    both = select_quotes("When was the widget shown?", [titled])
    assert [quote.text for quote in both] == ["It was first shown in 1931.", "Many people came to see it."]
    assert both[1].held == frozenset()


@pytest.mark.covers("S7")
@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("When did the bridge open?", "The bridge opened in 1894."),
        ("Who opened the bridge?", "The bridge opened for Ada."),
    ],
)
def test_of_sentences_alike_the_one_with_the_kind_of_thing_asked_for_is_quoted_first(question, expected):
    evidence = [result("The bridge opened for Ada. The bridge opened with joy. The bridge opened in 1894.")]
    assert select_quotes(question, evidence, limit=1)[0].text == expected
