"""`groundgraph evaluate`."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from math import log2
from pathlib import Path

import numpy as np
import pytest

from groundgraph.evals import corpus_base, run_queries
from groundgraph.evals.measures import RETRIEVAL_MEASURES

CORPUS = [
    {"_id": "tokens", "title": "Tokens", "text": "An access token expires after one hour."},
    {"_id": "refresh", "title": "Refresh", "text": "A refresh token lives for thirty days."},
    {"_id": "scopes", "title": "Scopes", "text": "A scope limits what an application may do."},
]
QUERIES = [
    {"_id": "q1", "text": "When does an access token expire?", "label": "ANSWERABLE"},
    {"_id": "q2", "text": "refresh token", "label": "ANSWERABLE"},
    {"_id": "q3", "text": "Who discovered penguins in Antarctica?", "label": "UNANSWERABLE"},
]


def lines(rows: list[dict[str, object]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A set in which q1 finds its passage first and q2 its passages first and, of gain 1, second."""
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text(lines(CORPUS))
    (folder / "queries.jsonl").write_text(lines(QUERIES))
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\ttokens\t1\nq2\ttokens\t2\nq2\trefresh\t1\n")
    return folder


@pytest.mark.covers("U5")
def test_figures_by_hand(call, folder):
    ran = call("evaluate", "small", "--json")
    assert (ran.code, ran.err) == (0, "")
    found = ran.json
    assert list(found)[:4] == ["dataset", "n", "measures", "intervals"]
    assert (found["dataset"], found["n"]) == ("small", 2)
    assert list(found["measures"]) == list(found["intervals"]) == list(RETRIEVAL_MEASURES)
    second = (1 + 2 / log2(3)) / (2 + 1 / log2(3))
    assert found["measures"]["nDCG@10"] == pytest.approx((1 + second) / 2, abs=1e-6)
    assert found["intervals"]["nDCG@10"] == pytest.approx([second, 1.0], abs=1e-6)
    assert found["measures"]["MRR"] == found["measures"]["R@5"] == 1.0


def test_the_base_is_kept_out_of_git_and_used_again(call, folder, tmp_path):
    first = call("evaluate", "small", "--json")
    bases = list((tmp_path / ".groundgraph" / "evaluate").glob("*.sqlite"))
    assert len(bases) == 1
    assert (tmp_path / ".groundgraph" / ".gitignore").read_text() == "*\n"
    assert call("evaluate", "small", "--json").json == first.json
    assert list((tmp_path / ".groundgraph" / "evaluate").glob("*.sqlite")) == bases


def test_text_form_saved_runs_and_comparison(call, folder):
    ran = call("evaluate", "small", "--save", "run.json")
    assert ran.code == 0
    assert ran.out.startswith("small: 2 queries\n  nDCG@5   0.")
    again = call("evaluate", "small", "--compare", "run.json")
    assert again.out.count("no difference shown") == len(RETRIEVAL_MEASURES)
    shown = call("evaluate", "small", "--compare", "run.json", "--json").json["comparison"]
    assert (shown["with"], shown["n"]) == ("run.json", 2)
    assert shown["differences"]["MRR"] == {"difference": 0.0, "interval": [0.0, 0.0], "verdict": "no difference shown"}
    assert call("evaluate", "small", "--compare", "none.json").code == 2
    assert "another set" not in again.err
    folder.rename(folder.with_name("other"))
    other = call("evaluate", "other", "--compare", "run.json")
    assert other.err.startswith(
        "The run in run.json is of another set, 'small': its queries are paired with those of 'other'"
    )


def test_refusal_needs_labels_and_no_judgements(call, folder):
    (folder / "qrels.tsv").unlink()
    found = call("evaluate", "small", "--measure", "refusal", "--json").json
    assert (found["n"], found["measures"], found["intervals"]) == (3, {"AUC": 1.0}, {"AUC": [1.0, 1.0]})
    (folder / "queries.jsonl").write_text(lines(QUERIES[:2]))
    assert call("evaluate", "small", "--measure", "refusal").code == 2


def test_several_corpora_are_several_sources(call, folder):
    (folder / "more.jsonl").write_text('{"_id": "m1", "parent": "scopes", "text": "A zebra token."}\n')
    ran = call("evaluate", "small", "--corpus", "main=corpus.jsonl", "--corpus", "more=more.jsonl", "--json")
    assert (ran.code, ran.json["n"]) == (0, 2)


def test_as_configured_keeps_the_configured_limits(call, folder, tmp_path):
    (tmp_path / "one.yaml").write_text("retrieval: {top_k: 1}\n")
    recall = [
        call("evaluate", "small", "--config", "one.yaml", "--json", *more).json["measures"]["R@5"]
        for more in ([], ["--as-configured"])
    ]
    assert recall == [1.0, 0.75]


def test_with_turns_the_last_line_is_asked(call, folder):
    (folder / "queries.jsonl").write_text(lines([{"_id": "q1", "text": "scope limits application\naccess token"}]))
    plain, turns = (call("evaluate", "small", "--json", *more).json["measures"]["MRR"] for more in ([], ["--turns"]))
    assert (plain, turns) == (0.5, 1.0)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--vectors", "x"], "there is no folder 'x'"),
        (["--measure", "citations"], "citations need queries with `passage` and `answers`"),
        (["--measure", "other"], "other"),
        (["--queries", "none.jsonl"], "there is no file 'none.jsonl'"),
        (["--save", "nowhere/run.json"], "there is no folder 'nowhere'"),
        (["--corpus", "=x"], "must be FILE or NAME=FILE"),
        (["--config", "none.yaml"], "none.yaml"),
    ],
)
def test_wrong_use_is_told(call, folder, arguments, expected):
    ran = call("evaluate", "small", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert expected in ran.err


def test_a_set_without_relevant_passages_is_wrong_use(call, folder):
    (folder / "qrels.tsv").write_text("q1\ttokens\t0\n")
    assert "no query has a relevant passage" in call("evaluate", "small").err


def test_without_ir_measures_the_command_that_installs_it_is_told(call, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    ran = call("evaluate", "small")
    assert ran.code == 3
    assert 'pip install "groundgraph[eval]"' in ran.err


@pytest.mark.covers("fault 32")
def test_when_every_query_fails_there_are_no_figures(call, folder, monkeypatch):
    async def gone(corpus, folder, on_progress=None, embedder=None, **options):
        return folder / "gone.sqlite"

    monkeypatch.setattr(corpus_base, "corpus_base", gone)
    ran = call("evaluate", "small", "--json")
    assert ran.code == 3
    assert list(ran.json) == ["error"]
    assert "Every query failed, so nothing was measured. Query 'q1': knowledge_base: " in ran.json["error"]["message"]


@pytest.mark.covers("fault 30")
def test_queries_that_fail_are_listed(call, folder, monkeypatch):
    ask = run_queries._answered

    def flaky(query, found, documents):
        return replace(ask(query, found, documents), failures=("kb: gone",) if query.id == "q2" else ())

    monkeypatch.setattr(run_queries, "_answered", flaky)
    ran = call("evaluate", "small", "--json", "--save", "run.json")
    assert (ran.code, ran.json["failed"]) == (1, [{"query": "q2", "reason": "kb: gone"}])
    assert "Failed: q2: kb: gone" in ran.err
    assert "The run in run.json had failures: 1." in call("evaluate", "small", "--compare", "run.json").err


def test_a_query_model_that_fails_is_a_failure(call, folder, tmp_path):
    (tmp_path / "m.yaml").write_text(
        "query_llm: {provider: openai, model: none, base_url: 'http://127.0.0.1:9/v1', max_retries: 0}\n"
        "limits: {attempts: 1}\n"
    )
    ran = call("evaluate", "small", "--config", "m.yaml", GROUNDGRAPH_QUERY_LLM__API_KEY="key")
    assert ran.code == 3
    assert "Every query failed, so nothing was measured. Query 'q1': model none: " in ran.err


@pytest.mark.covers("U5")
def test_vectors_from_files_take_the_place_of_a_model(call, folder, tmp_path):
    vectors = tmp_path / "vectors"
    vectors.mkdir()
    np.save(vectors / "small.corpus.npy", np.eye(3, dtype=np.float16))
    np.save(vectors / "small.queries.npy", np.eye(3, dtype=np.float16)[[2, 1, 0]])
    (tmp_path / "near.yaml").write_text("knowledge_base: {vector_weight: 1}\n")
    by_words = call("evaluate", "small", "--config", "near.yaml", "--json").json["measures"]["MRR"]
    ran = call("evaluate", "small", "--config", "near.yaml", "--vectors", "vectors", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["measures"]["MRR"] < by_words == 1.0


@pytest.mark.covers("U5")
def test_citations_by_hand(call, folder):
    text = "An access token expires after one hour. A scope limits what an application may do."
    sentences = ["An access token expires after one hour.", "A scope limits what an application may do."]
    (folder / "corpus.jsonl").write_text(lines([{"_id": "p", "text": text, "sentences": sentences}]))
    answers = [{"answer": "The access token expires after an hour.", "selected_sentences": sentences}]
    (folder / "queries.jsonl").write_text(lines([{"_id": "q", "text": "when?", "passage": "p", "answers": answers}]))
    (folder / "qrels.tsv").unlink()
    ran = call("evaluate", "small", "--measure", "citations", "--json", "--save", "cited.json")
    assert (ran.code, ran.json["n"], ran.json["measures"]) == (0, 1, {"precision": 1.0, "recall": 0.5})
    again = call("evaluate", "small", "--measure", "citations", "--compare", "cited.json")
    assert "recall    +0.0000  [+0.0000, +0.0000]  no difference shown" in again.out


@pytest.mark.slow
@pytest.mark.covers("L14")
def test_clapnq_with_stored_vectors_reaches_its_figure(call, data):
    found = call("evaluate", str(data / "clapnq"), "--vectors", str(data / "vectors"), "--json").json
    print(found)
    assert found["failed"] == []
    assert found["measures"]["nDCG@10"] >= 0.986


@pytest.mark.slow
@pytest.mark.covers("L14")
def test_clapnq_through_the_graph_reaches_its_figure(call, data):
    found = call("evaluate", str(data / "clapnq"), "--json").json
    print(found)
    assert found["n"] == 150
    assert found["measures"]["nDCG@10"] >= 0.950


@pytest.mark.slow
@pytest.mark.covers("L14")
def test_xquad_en_sentences_through_the_graph_reach_their_figure(call, data):
    files = ("--corpus", "corpus_sentences.jsonl", "--qrels", "qrels_sentences.tsv")
    found = call("evaluate", str(data / "xquad_en"), *files, "--json").json
    print(found)
    assert found["measures"]["nDCG@10"] >= 0.840


# The default tier has the follow-ups of the project's own conversations (tests/evals/test_outcome_set.py).
@pytest.mark.slow
@pytest.mark.covers("L14")
def test_conversations_are_never_below_their_last_turn(call, data):
    folder = str(data / "mtrag_pool")
    assert call("evaluate", folder, "--queries", "queries_lastturn.jsonl", "--save", "last.json").code == 0
    ran = call(
        "evaluate", folder, "--queries", "queries_questions.jsonl", "--turns", "--compare", "last.json", "--json"
    )
    differences = ran.json["comparison"]["differences"]
    print(differences)
    for name in ("nDCG@5", "R@5"):
        assert differences[name]["difference"] >= -0.01


@pytest.mark.covers("L14")
def test_the_passages_can_be_measured_in_a_sql_database(call, folder, tmp_path):
    embedded = call("evaluate", "small", "--json").json
    ran = call("evaluate", "small", "--sql", "sqlite:///measured.db", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["measures"] == embedded["measures"]
    assert (tmp_path / "measured.db").is_file()
    np.save(folder / "small.corpus.npy", np.eye(3, dtype="float32"))
    np.save(folder / "small.queries.npy", np.eye(3, dtype="float32"))
    ran = call("evaluate", "small", "--vectors", "small", "--sql", "sqlite:///measured.db")
    assert ran.code == 0
    assert "searched by words alone" in ran.err


def test_a_database_that_cannot_be_measured_in_is_told(call, folder):
    for url, code in (("mongodb://h/d", 2), ("postgresql://nobody@127.0.0.1:1/none", 3)):
        ran = call("evaluate", "small", "--sql", url)
        assert ran.code == code
        assert "--sql" in ran.err


@pytest.mark.covers("U5")
@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--measure", "outcomes", "--sql", "sqlite:///x.db"), "--sql: has no effect with --measure outcomes"),
        (("--measure", "outcomes", "--vectors", "none"), "--vectors: has no effect"),
        (("--measure", "outcomes", "--turns"), "--turns: has no effect"),
        (("--measure", "outcomes", "--as-configured"), "--as-configured: has no effect"),
        (("--measure", "outcomes", "--qrels", "none.tsv"), "--qrels: has no effect"),
        (("--measure", "outcomes", "--model"), "--model: there is none in the configuration"),
        (("--model",), "--model: has no effect with --measure retrieval; it is for --measure outcomes"),
        (("--wrong",), "--wrong: has no effect"),
        (("--again", "none.yaml"), "--again: has no effect with --measure retrieval; it is for --recorded"),
        (("-o", "x.html"), "-o, --out: has no effect"),
        (("--recorded",), "FOLDER: has no effect with --recorded"),
    ],
)
def test_an_option_that_a_measure_would_leave_aside_is_refused(call, folder, given, told):
    ran = call("evaluate", "small", *given)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err.replace("\n", " ")
