"""Which stems a search begins with, and when it goes on to the others."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from groundgraph.search.rank import MIN_SEEDS, Question, Rule, Scorer, by_seeds, frequency_of, seeds_of
from groundgraph.text.words import idf

STEMS = ["apple", "pear", "fig", "plum", "quince"]
PLAIN = Rule(by_rarity=False)
ROWS = [frozenset(stem for n, stem in enumerate(STEMS) if bits >> n & 1) for bits in range(1, 32)]


@given(
    st.lists(st.integers(1, 9_000), min_size=1, max_size=5), st.none() | st.integers(0, 10_000), st.integers(1, 9_000)
)
def test_seeds_are_the_rarest_and_few_texts_hold_them(frequencies, kept, most):
    df = dict(zip(STEMS, sorted(frequencies), strict=False))
    seeds = seeds_of(Question(list(df), df, 10_000, 5.0), kept, most)
    assert seeds == list(df)[: len(seeds)]
    assert len(seeds) >= min(MIN_SEEDS, len(df))
    share = kept / 10_000 if kept else 1.0
    held = [count * share for count in df.values()]
    assert len(seeds) <= MIN_SEEDS or sum(held[: len(seeds)]) <= most
    assert len(seeds) == len(df) or sum(held[: len(seeds) + 1]) > most


@given(
    st.lists(st.sampled_from(ROWS), max_size=12),
    st.integers(1, 5),
    st.integers(1, 6),
)
@example([frozenset({"apple"}), frozenset({"pear", "fig"})], 1, 1)
def test_seeds_never_leave_fewer_passages_than_all_stems_would(rows, count, top_k):
    question = Question(STEMS, dict.fromkeys(STEMS, 3), 20, 3.0)
    scorer = Scorer(question, PLAIN)
    looked = []

    def look(stems):
        looked.append(stems)
        return [scorer.passage(n, sorted(row), []) for n, row in enumerate(rows) if row & set(stems)]

    found, everything = (
        {one.key for one in passages}
        for passages in (by_seeds(question, STEMS[:count], look, top_k=top_k), look(STEMS))
    )
    assert found == everything or (len(found) >= top_k and found < everything)
    assert looked[0] == STEMS[:count]
    assert len(looked) <= 3


@given(st.integers(1, 10**7).flatmap(lambda texts: st.tuples(st.integers(1, texts), st.just(texts))))
def test_a_frequency_is_read_out_of_the_weight_that_it_gives(pair):
    held, texts = pair
    assert frequency_of(idf(texts, held), texts) == held


def test_what_a_best_text_scores_for_is_held_by_one_text_at_least_and_by_all_at_most():
    assert frequency_of(50.0, 10) == 1
    assert frequency_of(0.0, 10) == 10
