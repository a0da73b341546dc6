"""A corpus in Weaviate finds what the embedded default finds (done-when 2 of issue 6)."""

from __future__ import annotations

import pytest
from evaluated import IN_SHORT, MOST, OTHERS, SETS, ndcg
from weaviate_bases import weaviate_section

from groundgraph import load_settings
from groundgraph.evals.corpus_base import corpus_base, corpus_in_weaviate
from groundgraph.evals.dataset import load_dataset

pytestmark = pytest.mark.live


async def compared(one, data, folder, server):
    dataset = load_dataset(one.files(data))
    merge = {"retrieval": {"merge": one.merge}}
    settings = load_settings({"knowledge_base": weaviate_section(server), **merge})
    bases = {corpus.name: await corpus_base(corpus, folder) for corpus in dataset.corpora}
    for base in bases.values():
        await corpus_in_weaviate(settings, base)
    here = await ndcg(dataset, bases, load_settings(merge), MOST)
    there = await ndcg(dataset, bases, settings, MOST)
    print(f"{one.title}: embedded {here:.4f}, Weaviate {there:.4f}")
    return here, there


@pytest.mark.covers("L14")
@pytest.mark.parametrize("title", IN_SHORT)
async def test_weaviate_stays_within_a_hundredth_of_the_embedded_default(weaviate_server, data, tmp_path, title):
    here, there = await compared(SETS[title], data, tmp_path, weaviate_server)
    assert there >= here - 0.01


@pytest.mark.covers("L14")
@pytest.mark.slow
@pytest.mark.parametrize("title", OTHERS)
async def test_the_other_public_sets_in_weaviate(weaviate_server, data, tmp_path, title):
    here, there = await compared(SETS[title], data, tmp_path, weaviate_server)
    assert there >= here - 0.01
