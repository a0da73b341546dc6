"""Telling that a source went on without a part of itself (R7)."""

from __future__ import annotations

import asyncio

from groundgraph.core.degraded import collect_degradations, degraded
from groundgraph.core.turn_outcome import absence_outcome

TOLD = {"part": "vectors", "reason": "down"}


async def test_r7_what_tasks_tell_is_collected_once_by_whoever_asked():
    async def work() -> None:
        degraded("kb", "vectors", "down")

    with collect_degradations() as found:
        await asyncio.gather(work(), asyncio.create_task(work()))
        with collect_degradations() as inner:
            degraded("kb", "reranker", "slow")
    assert found == [TOLD]
    assert inner == [{"part": "reranker", "reason": "slow"}]


def test_r7_what_nobody_collects_is_logged(caplog):
    degraded("kb", "vectors", "down")
    assert "The source 'kb' went on without its vectors: down" in caplog.text


def test_s8_nothing_found_by_half_a_source_is_an_outage_and_not_ignorance():
    searched = {"source": "kb", "status": "ok", "refs": []}
    assert absence_outcome([searched]) == "insufficient"
    assert absence_outcome([{**searched, "degraded": [TOLD]}]) == "unavailable"
