"""The table of all public sets: on small sets of the same shape, by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.public_sets.__main__ import main
from benchmarks.public_sets.search_ways import Searched, search_set
from benchmarks.public_sets.sets import CLAPNQ, HYBRID, LEXICAL, PUBLIC_SETS, VECTORS, XQUAD_EN
from benchmarks.public_sets.table import Figure, Row, pair_row, refusal_rows, retrieval_rows, threshold_row
from groundgraph.core.embedder import Embedder
from groundgraph.evals.run_queries import Answered
from groundgraph.testing import NgramEmbeddings

SENTENCES = ["Access tokens expire after one hour .", "A refresh token lives for thirty days ."]
CORPUS = [
    {"_id": "a", "title": "Tokens", "text": " ".join(SENTENCES), "sentences": SENTENCES},
    {"_id": "b", "title": "Lions", "text": "A lion sleeps all day .", "sentences": ["A lion sleeps all day ."]},
]
QUERIES = [
    {
        "_id": "q1",
        "text": "when do access tokens expire",
        "label": "ANSWERABLE",
        "passage": "a",
        "answers": [{"answer": "They expire after one hour.", "selected_sentences": SENTENCES[:1]}],
    },
    {"_id": "q2", "text": "how long does a lion sleep", "label": "ANSWERABLE", "passage": "b", "answers": []},
    {"_id": "q3", "text": "price of a token ring card", "label": "UNANSWERABLE", "passage": "a", "answers": []},
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    (folder / "clapnq").mkdir(parents=True)
    (folder / "vectors").mkdir()
    (folder / "clapnq" / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in CORPUS))
    (folder / "clapnq" / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in QUERIES))
    (folder / "clapnq" / "qrels.tsv").write_text("q1\ta\t1\nq2\tb\t1\n")
    np.save(folder / "vectors" / "clapnq.corpus.npy", np.eye(2, 3, dtype=np.float16))
    np.save(folder / "vectors" / "clapnq.queries.npy", np.eye(3, dtype=np.float16)[[1, 0, 2]])
    return folder


def searched(answered: dict[str, list[Answered]], data: Path) -> Searched:
    from groundgraph.evals.dataset import load_dataset

    return Searched(load_dataset(CLAPNQ.files(data)), answered)


async def test_a_set_is_searched_by_a_model_of_ones_own(data, tmp_path):
    embedder = Embedder(NgramEmbeddings(), "ngrams", frozenset({"en"}))
    made = await search_set(CLAPNQ, data, embedder, tmp_path / "bases", lambda _: None)
    assert {way: [one.documents[0] for one in found[:2]] for way, found in made.found.items()} == {
        way: ["a", "b"] for way in (LEXICAL, VECTORS, HYBRID)
    }
    # That stored vectors are of other texts is no question then.
    assert made.strangers == frozenset()


def test_a_folder_without_a_model_is_told(data, tmp_path, capsys):
    assert main([str(data), "--only", "clapnq", "--embedding-folder", str(tmp_path / "none")]) == 2
    assert "there is no folder" in capsys.readouterr().err


async def test_a_set_is_searched_by_words_by_vectors_and_by_both(data, tmp_path):
    told: list[str] = []
    found = (await search_set(CLAPNQ, data, data / "vectors", tmp_path / "bases", told.append)).found
    assert told == ["clapnq: lexical", "clapnq: vectors", "clapnq: hybrid"]
    best = {way: [one.documents[0] for one in answered[:2]] for way, answered in found.items()}
    assert best[LEXICAL] == ["a", "b"]
    assert best[VECTORS] == ["b", "a"]
    assert [one.query for one in found[HYBRID]] == ["q1", "q2", "q3"]


async def test_without_vectors_a_set_is_searched_by_words_alone(data, tmp_path):
    (data / "vectors" / "clapnq.queries.npy").unlink()
    found = (await search_set(CLAPNQ, data, data / "vectors", tmp_path / "bases", lambda _: None)).found
    assert list(found) == [LEXICAL]


def ranked(documents: list[tuple[str, ...]], relevance: float = 0.9, answerable: float = 0.9) -> list[Answered]:
    return [
        Answered(f"q{number}", found, (relevance,) * len(found), answerable)
        for number, found in enumerate(documents, 1)
    ]


def test_the_hybrid_is_compared_with_the_better_list_and_marked_when_it_is_below(data):
    right, wrong = [("a",), ("b",)], [("b",), ("a",)]
    ways = {LEXICAL: ranked(wrong), VECTORS: ranked(right), HYBRID: ranked(wrong)}
    [row] = retrieval_rows(CLAPNQ, searched(ways, data))
    assert [figure.value for figure in row.figures.values()] == [0, 1, 0]
    assert row.remarks == ["hybrid minus vectors: -1.000 [-1.000, -1.000] lower  BELOW THE BETTER LIST"]
    assert "  to reach 0.988: NO" in row.lines()[3]
    [same] = retrieval_rows(CLAPNQ, searched({**ways, HYBRID: ranked(right)}, data))
    assert same.remarks == ["hybrid minus vectors: +0.000 [+0.000, +0.000] no difference shown"]


def test_a_difference_whose_interval_covers_0_is_no_difference_shown(data):
    first = searched({LEXICAL: ranked([("a",), ("a", "b")])}, data)
    second = searched({LEXICAL: ranked([("b", "a"), ("b",)])}, data)
    row = pair_row((CLAPNQ, first), (CLAPNQ, second))
    assert row.remarks[0].endswith("no difference shown")


def test_the_share_of_relevant_passages_that_the_threshold_keeps(data):
    answered = ranked([("a", "b"), ("a",)], relevance=0.11)
    low = ranked([("a",), ("b",)], relevance=0.09)
    row = threshold_row(CLAPNQ, searched({LEXICAL: answered, HYBRID: low, VECTORS: low}, data))
    assert {way: (figure.value, figure.n) for way, figure in row.figures.items()} == {LEXICAL: (1, 1), HYBRID: (0, 2)}


def test_what_is_refused_by_default(data):
    answered = [*ranked([("a",), ()], answerable=0.8), Answered("q3", ("a",), (0.9,), 0.01)]
    area, refused, doubted = refusal_rows(CLAPNQ, searched({LEXICAL: answered}, data))
    assert area.figures[LEXICAL].value == 1.0
    values = {name: figure.value for name, figure in refused.figures.items()}
    assert values == {"lexical, unanswerable": 1.0, "lexical, answerable": 0.5}
    assert [figure.value for figure in doubted.figures.values()] == [0.0, 0.0]


def test_where_an_answer_without_a_model_says_that_it_may_be_none(data):
    answered = [*ranked([("a",), ("b",)], answerable=0.8), Answered("q3", ("a",), (0.9,), 0.3)]
    *_, doubted = refusal_rows(CLAPNQ, searched({LEXICAL: answered}, data))
    values = {name: figure.value for name, figure in doubted.figures.items()}
    assert values == {"lexical, unanswerable": 1.0, "lexical, answerable": 0.0}


def test_one_command_shows_every_set_and_names_what_is_missing(data, tmp_path, capsys):
    arguments = [str(data), "--bases", str(tmp_path / "bases"), "--json"]
    assert main([*arguments, "--only", "clapnq"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["missing"] == []
    measures = [row["measure"] for row in printed["rows"]]
    assert measures[0] == "nDCG@10"
    assert {"AUC of support.answerable", "cited sentences: precision", "cited sentences: recall"} < set(measures)
    assert list(printed["rows"][0]["figures"]) == [LEXICAL, VECTORS, HYBRID]
    assert main(arguments) == 1
    missing = json.loads(capsys.readouterr().out)["missing"]
    assert len(missing) == len(PUBLIC_SETS) - 1
    assert any("corpus_sentences.jsonl" in line for line in missing)


def test_a_set_that_cannot_be_read_is_an_error(data, capsys):
    (data / "clapnq" / "queries.jsonl").write_text("{")
    assert main([str(data), "--only", "clapnq"]) == 2
    assert "queries.jsonl:1:" in capsys.readouterr().err


def test_rows_for_a_reader():
    row = Row("set", "measure", {"lexical": Figure(0.5, (0.4, 0.6), 7)}, {"lexical": 0.5}, ["a remark"])
    assert row.lines() == [
        "set: measure (n = 7)",
        "  lexical   0.500 [0.400, 0.600]  to reach 0.500: yes",
        "  a remark",
    ]


def test_the_sets_have_names_of_their_own():
    assert len({one.title for one in PUBLIC_SETS}) == len(PUBLIC_SETS)
    assert XQUAD_EN in PUBLIC_SETS


def test_vectors_that_seem_to_be_of_other_texts_are_told(data):
    ways = {LEXICAL: ranked([("a",), ("b",), ("a",)]), HYBRID: ranked([("a",), ("b",), ("a",)])}
    found = searched(ways, data)
    trusted, *_ = refusal_rows(CLAPNQ, Searched(found.dataset, ways, frozenset({"q1"})))
    assert trusted.remarks == []
    doubtful, *_ = refusal_rows(CLAPNQ, Searched(found.dataset, ways, frozenset({"q1", "q3"})))
    assert [remark.split(":")[0] for remark in doubtful.remarks] == ["DO NOT TRUST the figures with vectors"]
    assert "1 of 1 unanswerable questions" in doubtful.remarks[0]
