"""What of a source's answer counts as evidence (R1, R2)."""

from __future__ import annotations

import json

import pytest

from groundgraph.core.evidence import SourceResult
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.schema import SourceSchema
from groundgraph.nodes.retrieve_source import Question, accepted
from groundgraph.sources.in_memory import InMemorySource

pytestmark = pytest.mark.covers("R2")

FIELDS = {"at": {"type": "datetime"}, "note": {"type": "string"}}


def kept(condition, **metadata):
    source, schema = InMemorySource([], name="log"), SourceSchema("log", FIELDS)
    # A task carries its filters through a checkpoint, which holds plain JSON.
    filters = json.loads(json.dumps({"log": condition}))
    answer = [SourceResult("a pump", "1", "log", "memory", 1.0, metadata)]
    return accepted(answer, Question(source, schema, RetrievalIntent(["pump"], filters), 5, 0.0, "pump"))[1]


def test_the_node_s_own_check_of_filters_compares_times_as_instants():
    assert kept({"at": {"gte": "2026-03-01T12:00:00+02:00"}}, at="2026-03-01T10:30:00Z") == {}
    assert kept({"at": {"gte": "2026-03-01T12:00:00+02:00"}}, at="2026-03-01T09:30:00Z") == {"outside_filter": 1}
    assert kept({"at": "2026-03-01T12:00:00+02:00"}, at="2026-03-01T10:00:00") == {}


@pytest.mark.covers("F21")
def test_a_result_exactly_at_the_threshold_is_evidence_and_one_below_it_is_not():
    source = InMemorySource([], name="log")
    answer = [SourceResult("a pump", str(n), "log", "memory", relevance) for n, relevance in enumerate([0.5, 0.4999])]
    found, dropped = accepted(answer, Question(source, None, RetrievalIntent(["pump"]), 5, 0.5, "pump"))
    assert [result.relevance for result in found] == [0.5]
    assert dropped == {"below_threshold": 1}
