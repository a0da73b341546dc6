"""What the last step writes into the thread."""

from __future__ import annotations

import pytest

from groundgraph.nodes.record_turn import _metadata

RECORD = {
    **{
        "turn_id": "t2",
        "question": "When?",
        "outcome": "answered",
        "intent": {},
        "results": [],
        "results_by_source": {},
    },
    **{"total_results": 0, "deduplicated_to": 0, "retrieval_time_ms": 0.0, "intent_resolution_time_ms": 0.0},
    "sources": {},
}


@pytest.mark.covers("F21", "fault 42")
def test_a_turn_that_is_recorded_twice_stands_once_in_the_history():
    earlier = {"retrieval_provenance_history": [{"turn_id": "t1"}]}
    once = _metadata({"metadata": earlier}, RECORD)
    assert [entry["turn_id"] for entry in once["retrieval_provenance_history"]] == ["t1", "t2"]
    assert _metadata({"metadata": once}, RECORD) == once
