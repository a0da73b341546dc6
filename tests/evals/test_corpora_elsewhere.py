"""A corpus in Weaviate or in a SQL database finds what the embedded default finds (done-when 2 of issue 6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from evaluated import IN_SHORT, MOST, OTHERS, SETS, ndcg
from weaviate_bases import weaviate_section

from groundgraph import load_settings
from groundgraph.evals.corpus_base import corpus_base, corpus_in_sql, corpus_in_weaviate
from groundgraph.evals.dataset import load_dataset
from groundgraph.search import rank

pytestmark = pytest.mark.covers("L14")


@pytest.fixture(scope="module")
def embedded(data, bases):
    """Of a set its data, its bases and their figure, found out once for all stores."""
    known: dict[str, tuple[Any, dict[str, Path], float]] = {}

    async def embedded(title):
        if title not in known:
            dataset = load_dataset(SETS[title].files(data))
            made = {corpus.name: await corpus_base(corpus, bases) for corpus in dataset.corpora}
            with pytest.MonkeyPatch.context() as patch:
                # Servers do not search for other forms of words that stand nowhere.
                patch.setattr(rank, "MOST_FORMS", 0)
                known[title] = dataset, made, await ndcg(dataset, made, merged(title), MOST)
        return known[title]

    return embedded


# By so much less a store may find.
LESS = 0.01


def merged(title, **more):
    return load_settings({"retrieval": {"merge": SETS[title].merge}, **more})


async def in_weaviate(request, title, dataset, made, folder):
    settings = merged(title, knowledge_base=weaviate_section(request.getfixturevalue("weaviate_server")))
    for base in made.values():
        await corpus_in_weaviate(settings, base)
    return made, settings


async def in_sql(url, title, dataset, folder):
    return {corpus.name: await corpus_in_sql(url, corpus, folder) for corpus in dataset.corpora}, merged(title)


async def in_sqlite(request, title, dataset, made, folder):
    return await in_sql("sqlite:///corpus.db", title, dataset, folder)


async def in_postgresql(request, title, dataset, made, folder):
    return await in_sql(request.getfixturevalue("postgres").database("evaluated"), title, dataset, folder)


def stores(titles, mark, *places):
    return [pytest.param(place, title, marks=mark) for place in places for title in titles]


@pytest.mark.parametrize(
    ("place", "title"),
    [
        *stores(["clapnq", "xquad_ru sentences"], pytest.mark.slow, in_sqlite),
        *stores(IN_SHORT, pytest.mark.live, in_postgresql, in_weaviate),
        *stores(OTHERS, pytest.mark.long, in_postgresql, in_weaviate),
    ],
)
async def test_a_store_stays_within_a_hundredth_of_the_embedded_default(embedded, request, tmp_path, place, title):
    dataset, made, here = await embedded(title)
    bases, settings = await place(request, title, dataset, made, tmp_path)
    there = await ndcg(dataset, bases, settings, MOST)
    print(f"{title}: embedded {here:.4f}, {place.__name__} {there:.4f}")
    assert there >= here - LESS
