"""Reading a set: its forms, and what is wrong with it, with its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from groundgraph.core.errors import ConfigurationError
from groundgraph.evals.dataset import DatasetFiles, load_dataset


def write(folder: Path, corpus=None, queries=None, qrels="q1\ta\t1\n") -> Path:
    corpus = corpus or [{"_id": "a", "title": "A", "text": "first"}, {"_id": "b", "text": "second"}]
    queries = queries or [{"_id": "q1", "text": "what?"}]
    for name, rows in (("corpus", corpus), ("queries", queries)):
        text = "\n".join(row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows)
        (folder / f"{name}.jsonl").write_text(text + "\n", "utf-8")
    (folder / "qrels.tsv").write_text(qrels, "utf-8")
    return folder


def load(folder: Path, **options):
    return load_dataset(DatasetFiles(folder, **options))


def test_a_passage_is_title_space_text_and_counts_as_its_parent(tmp_path):
    rows = [{"_id": "a", "title": "A", "text": "x\u2028y"}, {"_id": "b", "parent": "a", "text": "z"}]
    corpus = load(write(tmp_path, rows)).corpora[0]
    assert [(p.id, p.document, p.text) for p in corpus.passages] == [("a", "a", "A x\u2028y"), ("b", "a", " z")]
    assert corpus.name == "knowledge_base"


@pytest.mark.parametrize("head", ["query-id\tcorpus-id\tscore\n", ""])
def test_the_header_of_the_judgements_is_optional(tmp_path, head):
    assert load(write(tmp_path, qrels=f"{head}q1\ta\t2\nq1\tb\t0\n")).judged == {"q1": {"a": 2, "b": 0}}


def test_byte_order_mark_and_windows_line_ends(tmp_path):
    write(tmp_path)
    for file in list(tmp_path.iterdir()):
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    dataset = load(tmp_path)
    assert (dataset.judged, dataset.queries[0].question) == ({"q1": {"a": 1}}, "what?")


def test_the_forms_of_a_conversation(tmp_path):
    conversation = [
        {"role": "user", "text": "one"},
        {"role": "Assistant", "text": "two"},
        {"role": "user", "text": "3"},
    ]
    rows = [
        {"_id": "q1", "conversation": conversation},
        {"_id": "q2", "text": "now", "history": ["before"]},
        {"_id": "q3", "text": "one\n\ntwo"},
    ]
    folder = write(tmp_path, queries=rows)
    turns = [query.turns for query in load(folder, turns=True).queries]
    assert turns == [
        (("user", "one"), ("assistant", "two"), ("user", "3")),
        (("user", "before"), ("user", "now")),
        (("user", "one"), ("user", "two")),
    ]
    assert load(folder).queries[2].question == "one\n\ntwo"


def test_several_corpora_are_called_as_told_or_as_their_files(tmp_path):
    write(tmp_path)
    (tmp_path / "more.jsonl").write_text('{"_id": "a", "text": "t"}\n')
    names = [corpus.name for corpus in load(tmp_path, corpora=("first=corpus.jsonl", "more.jsonl")).corpora]
    assert names == ["first", "more"]
    with pytest.raises(ConfigurationError, match="two corpora are called 'more'"):
        load(tmp_path, corpora=("more=corpus.jsonl", "more.jsonl"))


def test_judgements_of_other_queries_are_left_out_and_told(tmp_path):
    dataset = load(write(tmp_path, qrels="q1\ta\t1\nq9\ta\t1\n"))
    assert dataset.judged == {"q1": {"a": 1}}
    assert dataset.notes == ("qrels.tsv: 1 judgements of unknown queries left out, such as 'q9'.",)


def test_passages_without_text_are_told(tmp_path):
    dataset = load(write(tmp_path, [{"_id": "a", "text": "x"}, {"_id": "b", "text": " "}]))
    assert dataset.notes == ("corpus.jsonl: 1 of 2 passages hold no text.",)


GOOD = {"_id": "a", "text": "x"}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"corpus": [GOOD, '{"_id": "b", "text": }']}, "corpus.jsonl:2:22: this is no JSON"),
        ({"corpus": [GOOD, {"text": "x"}]}, "corpus.jsonl:2:1: '_id' must be"),
        ({"corpus": [GOOD, {"_id": "b", "text": None}]}, "corpus.jsonl:2:1: 'text' must be a text"),
        ({"corpus": [GOOD, GOOD]}, "corpus.jsonl:2:1: the _id 'a' stands in line 1 already"),
        ({"queries": [{"_id": "q1", "text": " "}]}, "queries.jsonl:1:1: 'text' is empty"),
        ({"queries": [{"_id": "q1", "text": "x", "history": "y"}]}, "queries.jsonl:1:1: 'history' must be"),
        (
            {"queries": [{"_id": "q1", "conversation": [{"role": "tool", "text": "y"}]}]},
            "queries.jsonl:1:1: the role 'tool'",
        ),
        (
            {"queries": [{"_id": "q1", "conversation": [{"role": "assistant", "text": "y"}]}]},
            "queries.jsonl:1:1: the last turn",
        ),
        ({"qrels": "q1\ta\t1\nq1 a 1\n"}, "qrels.tsv:2:1: query, passage and gain"),
        ({"qrels": "q1\ta\t1\nq1\tb\tmuch\n"}, "qrels.tsv:2:1: the gain 'much' is no whole number"),
        ({"qrels": "q1\ta\t0.5\n"}, "qrels.tsv:1:1: the gain '0.5' is no whole number"),
        ({"qrels": "q1\tz\t1\n"}, "qrels.tsv judges no passage of a corpus; 'z', for example, is in none"),
        ({"qrels": "q1\ta\t1\nq1\ta\t0\n"}, "judges the passage 'a' of the query 'q1' in two ways"),
        ({"qrels": "q9\ta\t1\n"}, "judges no query of the queries file, such as 'q9'"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path, files, expected):
    with pytest.raises(ConfigurationError) as raised:
        load(write(tmp_path, **files))
    assert expected in str(raised.value)


def test_a_line_that_is_not_utf8_and_missing_files_are_told(tmp_path):
    with pytest.raises(ConfigurationError, match="there is no folder"):
        load(tmp_path / "nowhere")
    write(tmp_path)
    with pytest.raises(ConfigurationError, match=r"there is no file 'x.tsv' in .*; name the file with --qrels"):
        load(tmp_path, qrels="x.tsv")
    (tmp_path / "corpus.jsonl").write_bytes(b'{"_id": "a", "text": "\xff"}\n')
    with pytest.raises(ConfigurationError, match=r"corpus.jsonl:1:1: the line is not UTF-8"):
        load(tmp_path)


def test_a_gain_may_be_written_with_a_fraction_of_zero_also_in_the_first_line(tmp_path):
    judged = load(write(tmp_path, qrels="q1\ta\t1.0\nq1\tb\t2.0\n")).judged
    assert judged == {"q1": {"a": 1, "b": 2}}


def test_at_most_twenty_problems_are_listed(tmp_path):
    with pytest.raises(ConfigurationError) as raised:
        load(write(tmp_path, qrels="q1\ta\t1\n" + "q1\tb\tmuch\n" * 30))
    assert len(raised.value.problems) == 20


def test_a_judged_passage_that_no_corpus_holds_counts_as_not_found_and_is_told(tmp_path):
    dataset = load(write(tmp_path, qrels="q1\ta\t1\nq1\tz\t2\nq9\ty\t1\n"))
    assert dataset.judged == {"q1": {"a": 1, "z": 2}}
    (others, missing) = dataset.notes
    assert "1 judgements of unknown queries" in others
    assert "1 judgements of passages that no corpus holds, such as 'z'; they count as not found" in missing
