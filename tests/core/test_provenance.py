"""The record of a turn (V1, V2)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from groundgraph.answers.provenance import (
    history_entry,
    provenance_namespace,
    reader_notes,
    source_reports,
    stored_record,
    with_texts,
)
from groundgraph.core.evidence import SourceResult, evidence_key, to_record
from groundgraph.core.intent import EMPTY_INTENT
from groundgraph.core.turn_values import EMPTY_CHECK, EMPTY_DRAFT, EMPTY_RANKING, EMPTY_RETRIEVAL, EMPTY_TURN
from groundgraph.prompts import Prompts

RECORD = to_record(SourceResult("Tokens expire.", "a", "docs", "memory", metadata={"title": "T"}))
KEY = evidence_key(RECORD)


UNREACHABLE = {"kind": "unreachable", "type": "SourceUnavailable", "part": "source"}


def retrieval(source="docs", status="ok", **values):
    return {**EMPTY_RETRIEVAL, "source": source, "status": status, "query": "q", **values}


def state(**values):
    return {
        "turn": {
            **{**EMPTY_TURN, "id": "t1", "question": "When? " * 40, "language": "en"},
            **{"started_at": 5.0, "issues": ["Cut."]},
        },
        "intent": {
            **EMPTY_INTENT,
            **{"mode": "message", "text_queries": ["q"], "filters": {}, "scope": "focused", "raw_data": {}},
            **{"issues": ["Said."], "elapsed_ms": 1.5, "calls": []},
        },
        "retrievals": {
            "0": retrieval(refs=[[KEY, 0.9, 3.0]], found=4, attempts=1, elapsed_ms=5.0),
            "1": retrieval(
                "cases", "failed", error="down", error_type="SourceUnavailable", elapsed_ms=9.0, failure=UNREACHABLE
            ),
        },
        "ranking": {
            **EMPTY_RANKING,
            "refs": [[KEY, 0.9, 3.0]],
            "by_source": {"docs": [[KEY, 0.9, 3.0]]},
            "total": 2,
            "found_again": {KEY: 2},
            "strategy": "round_robin",
            "works": [
                {"step": "merge_results", "came_in": 2, "went_out": 1, "left_out": {}, "elapsed_ms": 0.1},
            ],
        },
        "draft": {
            **EMPTY_DRAFT,
            **{"text": "Soon [1].", "style": "structured", "asked_style": "hybrid", "outcome": "answered"},
            **{"finish": "stop", "removed": [9, 9], "notes": ["Note."], "written": 4, "elapsed_ms": 7.0},
            "calls": [{"role": "answer", "model": "m", "input_tokens": 3}],
        },
        "check": {**EMPTY_CHECK, "labels": [1], "score": 0.5, "answerable": 1.0, "elapsed_ms": 2.0},
        **values,
    }


def stored(**values):
    return stored_record(state(**values), ["n"], "thread")


@pytest.mark.covers("V1")
def test_the_record_holds_everything_about_a_turn():
    record = stored()
    assert record["intent"] == {
        "mode": "message",
        "text_queries": ["q"],
        "filters": {},
        "scope": "focused",
        "output_style": None,
        "categories": [],
        "raw_data": {},
        "issues": ["Said."],
    }
    assert record["results"] == [[KEY, 0.9, 3.0]]
    assert record["results_by_source"] == {"docs": [[KEY, 0.9, 3.0]]}
    assert (record["total_results"], record["deduplicated_to"], record["found_again"]) == (2, 1, {KEY: 2})
    assert (record["retrieval_time_ms"], record["intent_resolution_time_ms"]) == (9.0, 1.5)
    assert record["timings_ms"] == {"resolve_intent": 1.5, "merge_results": 0.1, "answer": 7.0, "check_citations": 2.0}
    assert record["strategies"] == {"merge": "round_robin"}
    assert record["models"][0]["input_tokens"] == 3
    assert record["citation_check"]["labels"] == [1]
    assert record["style"] == {"asked": "hybrid", "used": "structured"}
    assert record["sources"]["cases"]["status"] == "failed"
    assert (record["turn_id"], record["thread_id"], record["notes"]) == ("t1", "thread", ["n"])
    assert json.loads(json.dumps(record)) == record


@pytest.mark.covers("fault 1")
def test_a_turn_without_retrieval_has_a_record_too():
    record = stored(retrievals={}, ranking=EMPTY_RANKING)
    assert (record["results"], record["total_results"], record["retrieval_time_ms"]) == ([], 0, 0.0)
    assert record["sources"] == record["strategies"] == {}


@pytest.mark.covers("V2")
def test_a_history_entry_is_small():
    entry = history_entry(stored())
    assert entry["turn_id"] == "t1"
    assert entry["outcome"] == "answered"
    assert len(entry["question"]) == 120
    assert (entry["total_results"], entry["deduplicated_to"]) == (2, 1)


@pytest.mark.covers("V2")
def test_texts_come_back_with_their_labels():
    full = with_texts(stored(), {KEY: RECORD})
    assert full["results"][0]["text"] == "Tokens expire."
    assert full["results"][0]["label"] == 1
    assert full["results_by_source"]["docs"][0]["relevance"] == 0.9
    assert "label" not in full["results_by_source"]["docs"][0]


STATUSES = ("ok", "skipped", "timed_out", "failed")
ENTRIES = st.dictionaries(
    st.text(max_size=3),
    st.builds(
        lambda source, status, found, attempts, ms, dropped: retrieval(
            source, status, found=found, attempts=attempts, elapsed_ms=ms, dropped=dropped, refs=[[KEY, 1, 1]] * found,
            **({} if status == "ok" else {"error": f"{status} error", "error_type": "E"}),
        ),
        *(st.sampled_from("ab"), st.sampled_from(STATUSES), st.integers(0, 4), st.integers(0, 3), st.floats(0, 9)),
        st.dictionaries(st.sampled_from(["empty", "outside_filter"]), st.integers(1, 3)),
    ),
)  # fmt: skip


@pytest.mark.covers("V1")
@given(ENTRIES)
def test_a_sources_report_sums_its_queries_and_tells_the_worst(retrievals):
    reports = source_reports(retrievals)
    assert set(reports) == {entry["source"] for entry in retrievals.values()}
    for name, report in reports.items():
        own = [entry for entry in retrievals.values() if entry["source"] == name]
        assert report["status"] == max((entry["status"] for entry in own), key=STATUSES.index)
        assert report["found"] == report["kept"] == sum(entry["found"] for entry in own)
        assert report["attempts"] == sum(entry["attempts"] for entry in own)
        assert report["elapsed_ms"] == max(entry["elapsed_ms"] for entry in own)
        assert len(report["queries"]) == len(own)
        assert sum(report["dropped"].values()) == sum(sum(entry["dropped"].values()) for entry in own)
        assert report.get("error") == (None if report["status"] == "ok" else f"{report['status']} error")


@pytest.mark.covers("V1")
@given(ENTRIES)
def test_reports_do_not_depend_on_which_task_came_first(retrievals):
    assert source_reports(dict(reversed(retrievals.items()))) == source_reports(retrievals)


def notes(**values):
    return reader_notes(Prompts().note, state(**values))


@pytest.mark.covers("S8")
def test_the_notes_tell_of_message_sources_and_answer_once_each():
    told = notes()
    assert told[:2] == ["Cut.", "Said."]
    assert told[2] == 'The source "cases" could not be searched: SourceUnavailable: it cannot be reached'
    assert told[3] == "Note."
    assert told[4] == "Citations that refer to no evidence were removed: [9]."
    assert len(told) == len(set(told)) == 5


@pytest.mark.covers("S8")
@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (retrieval(status="timed_out", error="no answer within 3 s"), "did not answer within 3 s"),
        (retrieval(status="timed_out", error="3"), "did not answer within 3 s"),
        (retrieval(status="skipped", error="no tenant"), "was not searched: no tenant"),
        (retrieval(dropped={"outside_filter": 2}), "left out: 2"),
    ],
)
def test_each_way_a_source_is_missing_is_named(entry, words):
    assert any(words in note for note in notes(retrievals={"0": entry}))


@pytest.mark.covers("S8")
def test_nothing_is_noted_when_all_went_well():
    quiet = state(retrievals={"0": retrieval(dropped={"empty": 1})})
    quiet["turn"]["issues"] = quiet["intent"]["issues"] = quiet["draft"]["notes"] = quiet["draft"]["removed"] = []
    assert reader_notes(Prompts().note, quiet) == []


@pytest.mark.covers("V2")
@pytest.mark.guard
@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_any_thread_id_makes_a_namespace_that_a_store_takes(thread_id):
    store = InMemoryStore()
    store.put(provenance_namespace(thread_id), "k", {"a": 1})
    assert store.get(provenance_namespace(thread_id), "k").value == {"a": 1}


@pytest.mark.covers("V2")
@pytest.mark.guard
@given(st.text("a.%-/2E\u00e9", min_size=1), st.text("a.%-/2E\u00e9", min_size=1))
def test_two_threads_never_share_a_namespace(one, other):
    assert (provenance_namespace(one) == provenance_namespace(other)) == (one == other)


@pytest.mark.covers("F21")
def test_threads_whose_ids_differ_in_a_full_stop_share_no_record():
    ids = ["a.b", "a_b", "a-b", "a b", "a%2Eb", "ab", ".", "_", "-", ""]
    names = [provenance_namespace(one) for one in ids]
    # A label must not be empty, so that of no text is the only one that has another's.
    assert len(set(names)) == len(ids) - 1
    assert names[-1] == names[-2]
