"""Telling that a source went on without a part of itself (R7)."""

from __future__ import annotations

import asyncio

import pytest

from groundgraph.answers.provenance import absence_outcome
from groundgraph.core.failure import collect_degradations, degraded
from groundgraph.core.turn_values import EMPTY_RETRIEVAL

pytestmark = pytest.mark.covers("R7")

TOLD = {"part": "vectors", "reason": "down"}


async def test_what_tasks_tell_is_collected_once_by_whoever_asked():
    async def work() -> None:
        degraded("kb", "vectors", "down")

    with collect_degradations() as found:
        await asyncio.gather(work(), asyncio.create_task(work()))
        with collect_degradations() as inner:
            degraded("kb", "reranker", "slow")
    assert found == [TOLD]
    assert inner == [{"part": "reranker", "reason": "slow"}]


def test_what_nobody_collects_is_logged(caplog):
    degraded("kb", "vectors", "down")
    assert "The source 'kb' went on without its vectors: down" in caplog.text


@pytest.mark.covers("S8")
def test_nothing_found_by_half_a_source_is_an_outage_and_not_ignorance():
    searched = {**EMPTY_RETRIEVAL, "source": "kb", "status": "ok", "refs": []}
    assert absence_outcome([searched]) == "insufficient"
    assert absence_outcome([{**searched, "degraded": [TOLD]}]) == "unavailable"
    for part in ("categories", "heading_choice"):
        assert absence_outcome([{**searched, "degraded": [{**TOLD, "part": part}]}]) == "insufficient"
