"""What a search knows of the whole base stays what it was when the search began."""

from __future__ import annotations

import time

import pytest

from groundgraph.sources.weaviate.statistics import _Best
from groundgraph.sources.weaviate_base.searcher import Counted

pytestmark = pytest.mark.covers("R5")


def learned() -> Counted:
    counted = Counted().at(5)
    counted._objects = 100
    counted._best.put("pump", _Best(1.5, 1, 7))
    counted._magnitude, counted._ends_at = 7, time.monotonic() + 600
    counted._average_text, counted._average_length = 12.0, 9.0
    return counted


def test_a_search_under_way_keeps_its_counts_when_another_one_sees_a_newer_base():
    counted = learned()
    before = counted.question(["pump", "leak"])
    newer = counted.at(6)
    assert newer is not counted
    assert counted.question(["pump", "leak"]) == before
    assert before.df["pump"] > 0
    # The averages change slowly, so they are not read again; how frequent a stem is may be another now.
    assert newer.question(["pump"]).average_length == before.average_length
    assert newer.question(["pump"]).df == {}


def test_counts_are_shared_until_the_base_was_written_to_or_they_are_old():
    counted = learned()
    assert counted.at(5) is counted
    first = Counted().at(1)
    assert first.at(1) is first
    counted._ends_at = time.monotonic() - 1
    assert counted.at(5).question(["pump"]).average_length == 0.0
