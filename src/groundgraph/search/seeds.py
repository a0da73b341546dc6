"""Which stems a search begins with.

A question goes to an index as OR over its stems, never as AND. What costs time is not finding texts but ranking each of
them, so when the stems of a question are in very many texts, only texts are ranked that hold one of its rarer stems
(the seeds); within those, all stems count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from groundgraph.search.passage import Passage
from groundgraph.search.question import Question
from groundgraph.search.scorer import Scorer

# Texts that one search ranks, as far as the seeds let it choose.
RANKED_TEXTS = 8_000
MIN_SEEDS = 2


def seeds_of(question: Question, kept: int | None, most: int | None = None) -> list[str]:
    """The rarest stems that together are in at most `most` texts, but at least `MIN_SEEDS`.

    Args:
        question: as it is asked.
        kept: the number of texts that a filter keeps, None without a filter.
        most: `RANKED_TEXTS` when None.
    """
    most = RANKED_TEXTS if most is None else most
    share = kept / question.texts if kept and question.texts else 1.0
    seeds: list[str] = []
    ranked = 0.0
    for stem, df in question.df.items():
        ranked += df * share
        if ranked > most and len(seeds) >= MIN_SEEDS:
            break
        seeds.append(stem)
    return seeds


def by_seeds(
    scorer: Scorer,
    question: Question,
    seeds: Sequence[str],
    look: Callable[[Sequence[str]], Sequence[Passage]],
    *,
    top_k: int,
    threshold: float = 0.0,
) -> Sequence[Passage]:
    """What `look` finds for the seeds; for all stems of `question` when too few of that reach the threshold.

    Args:
        scorer: of the question.
        question: as it is asked.
        seeds: from `seeds_of`.
        look: gives the passages that hold one of some stems.
        top_k: how many are enough.
        threshold: the relevance that they need.
    """
    passages = look(seeds)
    if len(seeds) == len(question.df) or sum(one.share >= threshold for one in passages) >= top_k:
        return passages
    # What only the other stems find holds none of the seeds.
    others = question.df.keys() - set(seeds)
    return look(list(question.df)) if scorer.relevance(others) >= threshold else passages
