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


async def check_in_weaviate(embedded, title, server):
    dataset, made, here = await embedded(title)
    settings = merged(title, knowledge_base=weaviate_section(server))
    for base in made.values():
        await corpus_in_weaviate(settings, base)
    there = await ndcg(dataset, made, settings, MOST)
    print(f"{title}: embedded {here:.4f}, Weaviate {there:.4f}")
    assert there >= here - LESS


async def check_in_sql(embedded, title, url, folder):
    dataset, _, here = await embedded(title)
    tables = {corpus.name: await corpus_in_sql(url, corpus, folder) for corpus in dataset.corpora}
    there = await ndcg(dataset, tables, merged(title), MOST)
    print(f"{title}: embedded {here:.4f}, SQL {there:.4f}")
    assert there >= here - LESS


@pytest.mark.slow
@pytest.mark.parametrize("title", ["clapnq", "xquad_ru sentences"])
async def test_sqlite_stays_within_a_hundredth_of_the_embedded_default(embedded, tmp_path, title):
    await check_in_sql(embedded, title, "sqlite:///corpus.db", tmp_path)


@pytest.mark.live
@pytest.mark.parametrize("title", IN_SHORT)
async def test_postgresql_stays_within_a_hundredth_of_the_embedded_default(embedded, postgres, tmp_path, title):
    await check_in_sql(embedded, title, postgres.database("evaluated"), tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("title", OTHERS)
async def test_the_other_public_sets_on_postgresql(embedded, postgres, tmp_path, title):
    await check_in_sql(embedded, title, postgres.database("evaluated_all"), tmp_path)


@pytest.mark.live
@pytest.mark.parametrize("title", IN_SHORT)
async def test_weaviate_stays_within_a_hundredth_of_the_embedded_default(embedded, weaviate_server, title):
    await check_in_weaviate(embedded, title, weaviate_server)


@pytest.mark.long
@pytest.mark.parametrize("title", OTHERS)
async def test_the_other_public_sets_in_weaviate(embedded, weaviate_server, title):
    await check_in_weaviate(embedded, title, weaviate_server)
