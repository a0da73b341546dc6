"""How well sentences of the evidence agree with a claim."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.answers.citations import CITED_FROM, sentence_scores, sentences_to_cite
from groundgraph.answers.sentence_index import sentences_of
from groundgraph.core.evidence import SourceResult


def result(content: str) -> SourceResult:
    return SourceResult(content, "id", "docs", "memory")


SENTENCES = [
    "Access tokens expire after one hour. ",
    "A refresh token lets a client get a new access token. ",
    "The weather in Paris is mild. ",
    "Токен доступа действует один час. ",
    "👩\u200d💻 שלום. ",
    "# Heading\n\n",
    "\n\n",
]
TEXTS = st.lists(st.sampled_from(SENTENCES), max_size=6).map("".join)
EVIDENCE = st.dictionaries(st.integers(1, 9), TEXTS.map(result), max_size=4)


@given(TEXTS, EVIDENCE)
def test_every_sentence_has_a_score_from_0_to_1_and_its_own_place(claim, evidence):
    found = sentence_scores(claim, evidence)
    assert [(one.label, one.start, one.end) for one in found] == [
        (label, sentence.start, sentence.end)
        for label, piece in evidence.items()
        for sentence in sentences_of(piece.content)
    ]
    assert all(0 <= one.score <= 1 for one in found)


@given(TEXTS, EVIDENCE)
def test_the_order_of_the_evidence_changes_no_score(claim, evidence):
    turned = dict(reversed(list(evidence.items())))
    assert sorted(sentence_scores(claim, evidence), key=repr) == pytest.approx(
        sorted(sentence_scores(claim, turned), key=repr)
    )


@given(st.sampled_from(SENTENCES[:4]), st.sampled_from(SENTENCES[:4]))
def test_agreement_is_the_same_in_both_directions_and_whole_for_the_sentence_itself(one, other):
    both = {1: result(one), 2: result(other)}
    assert sentence_scores(one, both)[0].score == pytest.approx(1)
    assert sentence_scores(one, both)[1].score == pytest.approx(sentence_scores(other, both)[0].score)


def test_a_sentence_without_a_shared_word_has_no_score():
    assert [one.score for one in sentence_scores("Penguins swim.", {1: result("".join(SENTENCES[:3]))})] == [0, 0, 0]
    assert [one.score for one in sentence_scores("", {1: result(SENTENCES[0])})] == [0]
    assert sentence_scores("Tokens expire.", {}) == []


def test_a_rare_word_in_common_counts_more_than_a_frequent_one():
    evidence = {1: result("The token is blue. The token is old. The token is here. The penguin is new.")}
    scores = [one.score for one in sentence_scores("token penguin", evidence)]
    assert scores[3] > max(scores[:3])


def test_the_sentences_to_cite_are_those_that_a_claim_agrees_with():
    evidence = {2: result("".join(SENTENCES[:3])), 5: result(SENTENCES[3])}
    claims = ["An access token is valid for one hour: it will expire.", "Токен действует час.", "Penguins swim."]
    cited = sentences_to_cite(claims, evidence)
    texts = [evidence[one.label].content[one.start : one.end] for one in cited]
    assert texts == [SENTENCES[0].strip(), SENTENCES[3].strip()]
    assert all(one.score >= CITED_FROM for one in cited)
    assert [one.label for one in cited] == [2, 5]


@given(st.lists(st.sampled_from(SENTENCES), max_size=4), EVIDENCE)
def test_a_sentence_is_cited_once_with_its_best_score(claims, evidence):
    cited = sentences_to_cite(claims, evidence)
    assert len({(one.label, one.start) for one in cited}) == len(cited)
    for one in cited:
        scores = [found.score for claim in claims for found in sentence_scores(claim, evidence)
                  if (found.label, found.start) == (one.label, one.start)]  # fmt: skip
        assert one.score == max(scores)


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_claims_the_one_that_agrees_better_gives_the_score(turned):
    evidence = {1: result("Access tokens expire after one hour. Lions sleep.")}
    claims = ["Access tokens expire after one hour.", "Access tokens expire."]
    [cited] = sentences_to_cite(claims[::-1] if turned else claims, evidence)
    assert cited.score == pytest.approx(1)
