"""A conversation whose last turn is rewritten as a person did, through the whole retrieval graph (limits L14)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from benchmarks.public_sets.given_rewrites import given_rewrites, with_rewriting
from benchmarks.public_sets.search_ways import search_set
from benchmarks.public_sets.sets import LEXICAL, REWRITE, REWRITTEN
from groundgraph import load_settings
from groundgraph.core.errors import ModelError
from groundgraph.evals.dataset import load_dataset
from groundgraph.evals.run_queries import evaluation_settings

pytestmark = pytest.mark.covers("L14")

ROWS = {
    "corpus.jsonl": [
        {"_id": "lite", "text": "The Lite plan costs 9 a month."},
        {"_id": "pro", "text": "The Pro plan costs 49 a month."},
    ],
    "queries_questions.jsonl": [
        {"_id": "q1", "text": "What does the Pro plan include?\nAnd how much does it cost?"},
        {"_id": "q2", "text": "How much is the Lite plan?"},
    ],
    "queries_rewrite.jsonl": [
        {"_id": "q1", "text": "How much does the Pro plan cost?"},
        {"_id": "q2", "text": "How much is the Lite plan?"},
    ],
}


@pytest.fixture
def small(tmp_path: Path) -> Path:
    folder = tmp_path / "mtrag_pool"
    folder.mkdir()
    for name, rows in ROWS.items():
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "qrels.tsv").write_text("q1\tpro\t1\nq2\tlite\t1\n")
    return tmp_path


def datasets(small: Path):
    return load_dataset(REWRITTEN.files(small)), load_dataset(REWRITE.files(small))


async def test_the_model_replies_with_the_wording_of_the_question_that_it_is_asked(small):
    model = given_rewrites(*datasets(small))
    assert (await model.ainvoke([HumanMessage("And how much does it cost?")])).text == ROWS["queries_rewrite.jsonl"][0][
        "text"
    ]
    with pytest.raises(ModelError, match="nobody rewrote"):
        await model.ainvoke([HumanMessage("What does the Pro plan include?")])


def test_only_the_rewrite_is_switched_on():
    settings = with_rewriting(load_settings({}), 2)
    assert settings.stages == {"rewrite"}
    assert settings.enhanced_retrieval.rewrite_min_words == 2
    assert settings.intent.mode == "static"


@pytest.mark.parametrize("stages", [None, ["fusion", "rotation", "reorder"]])
def test_an_evaluation_keeps_results_in_the_order_of_their_relevance(stages):
    own = {"enhanced_autonomous_retrieval": True, "enhanced_retrieval": {"stages": stages}}
    measured = evaluation_settings(load_settings(own), {}, as_configured=True)
    assert measured.stages == load_settings(own).stages - {"rotation", "reorder"}
    assert "fusion" in measured.stages


async def test_the_graph_searches_for_the_rewritten_question_and_for_nothing_else(small):
    found = (await search_set(REWRITTEN, small, small / "vectors", small / "bases", lambda _: None)).found[LEXICAL]
    assert [one.documents[0] for one in found] == ["pro", "lite"]
    assert [one.failures for one in found] == [(), ()]


def test_a_set_with_rewrites_needs_them_and_their_vectors(small):
    assert REWRITTEN.missing(small) == []
    (small / "mtrag_pool" / "queries_rewrite.jsonl").unlink()
    assert REWRITTEN.missing(small) == ["queries_rewrite.jsonl"]
    vectors = small / "vectors"
    vectors.mkdir()
    (vectors / "mtrag_pool.corpus.npy").touch()
    assert not REWRITTEN.has_vectors(vectors)
    (vectors / "mtrag_pool.queries_rewrite.npy").touch()
    assert REWRITTEN.has_vectors(vectors)
