"""`groundgraph sources`: what can be searched, and whether it answers (U5)."""

from __future__ import annotations

import asyncio

import pytest
from virtual_time import in_virtual_time

from groundgraph.cli import doctor_checks as probe_sources
from groundgraph.settings.load_settings import load_settings
from groundgraph.sources.contract import GroundedSource, source_types

pytestmark = pytest.mark.covers("U5")

TWO = "sources:\n- {type: vector_kb, name: docs, weight: 2}\n- {type: vector_kb, name: other, path: none.sqlite}\n"


def test_a_filled_base_tells_its_size_and_answers(filled):
    ran = filled("sources", "--json")
    assert ran.code == 0
    [source] = ran.json["sources"]
    assert source.pop("milliseconds") < 2000
    assert source == {
        "name": "knowledge_base",
        "type": "knowledge_base",
        "weight": 1,
        "fields": {"document": "string"},
        "documents": 2,
        "chunks": 3,
        "answers": True,
        "reason": "",
    }


def test_a_source_that_does_not_answer_is_listed_with_its_reason(filled, tmp_path):
    (tmp_path / "groundgraph.yaml").write_text(TWO)
    ran = filled("sources")
    assert ran.code == 1
    rows = [line.split("\t") for line in ran.out.splitlines()]
    assert rows[0] == ["name", "type", "weight", "fields", "documents", "chunks", "answers"]
    assert rows[1][:6] == ["docs", "knowledge_base", "2", "document (string)", "2", "3"]
    assert rows[2] == ["other", "knowledge_base", "1", "document (string)", "?", "?", "no"]
    assert "other: There is no knowledge base in" in ran.err


def test_when_no_source_answers_the_exit_code_says_so(call):
    assert call("sources").code == 3


def test_no_model_is_needed(filled, tmp_path):
    (tmp_path / "groundgraph.yaml").write_text("llm: {provider: anthropic, model: m}\n")
    assert filled("sources").code == 0


class Silent(GroundedSource):
    """Never answers."""

    name = "silent"
    source_type = "silent"

    async def query(self, intent, *, top_k=5, score_threshold=0.0):
        await asyncio.Event().wait()


def test_a_source_that_hangs_is_waited_for_no_longer_than_the_limit(monkeypatch):
    monkeypatch.setattr(probe_sources, "LIMIT", 0.05)
    monkeypatch.setitem(source_types._entries, "silent", lambda entry: Silent())
    settings = load_settings({"sources": [{"type": "silent", "name": "silent"}, {"type": "memory", "name": "m"}]})
    (silent, memory), took = in_virtual_time(probe_sources.probe_sources(settings))
    assert took == pytest.approx(0.05)
    assert (silent.answers, silent.reason) == (False, "it did not answer within 0.05 seconds")
    assert memory.answers
