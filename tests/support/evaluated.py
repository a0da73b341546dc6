"""The figures of a public set over bases of any kind."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from benchmarks.public_sets.sets import PUBLIC_SETS
from groundgraph.core.embedder import Embedder
from groundgraph.evals.dataset import Dataset
from groundgraph.evals.measures import means, retrieval_values, scored_queries
from groundgraph.evals.run_queries import evaluation_settings, run_queries
from groundgraph.settings.settings import Settings

SETS = {one.title: one for one in PUBLIC_SETS}
# Those that are measured in every run of the live tests; `make test-long` has the others.
IN_SHORT = ("clapnq", "xquad_en sentences")
# What a conversation is made into before the search is the same for every store.
OTHERS = tuple(title for title, one in SETS.items() if title not in IN_SHORT and not one.turns)
# On how many questions of each: all of them take a quarter of an hour.
MOST = int(os.environ.get("GROUNDGRAPH_EVALUATED_QUESTIONS", "150"))


async def ndcg(
    dataset: Dataset, bases: Mapping[str, Any], settings: Settings, most: int, embedder: Embedder | None = None
) -> float:
    """The nDCG@10 on at most about `most` questions of `dataset`; a query that failed is an error."""
    counting = scored_queries(dataset.judged)
    asked = [query for query in dataset.queries if query.id in counting]
    asked = asked[:: max(1, len(asked) // most)]
    measured = evaluation_settings(settings, bases, as_configured=False)
    answered = await run_queries(measured, dataset.corpora, asked, None, embedder)
    assert [one.failures for one in answered if one.failures] == []
    judged = {query.id: dataset.judged[query.id] for query in asked}
    return means(retrieval_values(judged, {one.query: one.documents for one in answered}))["nDCG@10"]
