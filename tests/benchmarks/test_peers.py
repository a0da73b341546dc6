"""The comparison with peers, without those that would have to be installed."""

from __future__ import annotations

import json

import pytest

from benchmarks.peers.__main__ import main
from benchmarks.peers.environments import PACKAGES

pytestmark = pytest.mark.slow


def test_a_turn_and_a_thread_are_compared_with_langgraph_alone(tmp_path):
    figures = tmp_path / "figures.json"
    ours = ["--only", "groundgraph", "--only", "LangGraph alone"]
    assert main(["turn", "thread", "words", *ours, "--rounds", "1", "--largest", "20", "--json", str(figures)]) == 0
    taken = {(one["work"], one["label"], one["size"]): one["cpu_ms"] for one in json.loads(figures.read_text())}
    assert set(taken) == {
        *((("turn", label, size)) for label in ("groundgraph", "LangGraph alone") for size in (1, 3, 10)),
        *((("thread", label, 20)) for label in ("groundgraph", "LangGraph alone")),
    }
    assert all(cpu > 0 for cpu in taken.values())


def test_an_unknown_comparison_is_named(capsys):
    assert main(["swimming"]) == 2
    assert "no comparison swimming. Known: turn, at once, thread, words, vectors, ingest" in capsys.readouterr().err


def test_every_package_of_a_peer_is_pinned_but_what_only_helps():
    pinned = [package for packages in PACKAGES.values() for package in packages if "==" in package]
    assert len(pinned) == sum(map(len, PACKAGES.values())) - len(["PyStemmer", "numpy", "matplotlib"])
