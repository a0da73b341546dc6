"""The user's own words in the relevance of a result (P3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.core.evidence import Hit
from groundgraph.nodes.works.score_results import blend_query_overlap, query_overlap
from groundgraph.text.words import query_stems

pytestmark = pytest.mark.covers("P3")

TEXT = st.text(alphabet="abc токен OAuth 漢字 \n.é", max_size=40)


def record(content: str, **metadata):
    return {"content": content, "source_id": "", "source_name": "s", "source_type": "t", "metadata": metadata}


def blended(message: str, weight: float, *texts: tuple[float, str]) -> list[tuple[str, float]]:
    records = {str(n): record(text) for n, (_, text) in enumerate(texts)}
    hits = [Hit(str(n), "s", str(n), relevance, relevance) for n, (relevance, _) in enumerate(texts)]
    return [(hit.key, hit.relevance) for hit in blend_query_overlap(hits, records, message, weight)]


def test_the_share_of_the_users_words_is_blended_in_and_the_ranking_sorted():
    found = blended("refresh token lifetime", 0.3, (0.8, "An access code."), (0.7, "Lifetimes of refresh tokens."))
    assert found == [("1", pytest.approx(0.7 * 0.7 + 0.3)), ("0", pytest.approx(0.7 * 0.8))]


def test_russian_words_count_by_their_stems():
    found = blended("Как обновить токены доступа?", 1.0, (0.9, "Погода."), (0.1, "Обновление токена доступа."))
    assert found[0] == ("1", pytest.approx(2 / 3))


def test_title_and_section_count_too():
    asked = query_stems("refresh token lifetime")
    assert query_overlap(asked, record("Ten days.", title="Tokens", section="Refresh > Lifetime")) == 1
    assert query_overlap(asked, record("Ten days.")) == 0


def test_weight_0_leaves_the_relevance_and_a_message_without_words_changes_nothing():
    texts = [(0.2, "token"), (0.9, "other")]
    assert blended("token", 0.0, *texts) == [("1", 0.9), ("0", 0.2)]
    assert blended("?!", 1.0, *texts) == [("0", 0.2), ("1", 0.9)]
    assert blended("token", 0.5) == []


@given(st.lists(st.tuples(st.floats(), TEXT), max_size=8), TEXT, st.floats(0, 1))
def test_nothing_is_lost_and_every_relevance_is_from_0_to_1(texts, message, weight):
    found = blended(message, weight, *texts)
    assert sorted(key for key, _ in found) == sorted(str(n) for n in range(len(texts)))
    if query_stems(message):
        assert all(0 <= relevance <= 1 for _, relevance in found)
        assert [value for _, value in found] == sorted((value for _, value in found), reverse=True)
