"""`groundgraph graph` shows the stages of autonomous retrieval that a configuration has (T5, U5)."""

from __future__ import annotations

import re

import pytest

CONFIG = """
llm: {provider: openai, model: gpt-4o-mini}
sources: [{type: cascade, name: sales, path: .}]
category_router: {enabled: true}
enhanced_autonomous_retrieval: true
"""
ALL = {"rewrite_question", "route_categories", "decompose_question"}


def steps(mermaid: str) -> set[str]:
    return set(re.findall(r"^\s(\w+)\(", mermaid, re.MULTILINE))


@pytest.mark.covers("T5")
def test_the_picture_of_a_configuration_shows_its_stages(call, tmp_path):
    (tmp_path / "groundgraph.yaml").write_text(CONFIG)
    for which in ("turn", "retrieval"):
        ran = call("graph", which)
        assert ran.code == 0
        assert steps(ran.out) >= ALL
        works = "merge_results, rotate_results, fit_budget, arrange_results, judge_evidence, backfill_facts"
        assert f"works = {works}<" in ran.out
    (tmp_path / "groundgraph.yaml").write_text(CONFIG + "enhanced_retrieval: {stages: [rewrite]}\n")
    assert steps(call("graph").out) & ALL == {"rewrite_question", "route_categories"}
    (tmp_path / "groundgraph.yaml").write_text("llm: {provider: openai, model: gpt-4o-mini}\n")
    assert not steps(call("graph").out) & ALL


@pytest.mark.covers("C8")
def test_the_picture_of_a_configuration_that_cannot_be_built_is_refused(call, tmp_path):
    flag = "enhanced_autonomous_retrieval: true\n"
    (tmp_path / "groundgraph.yaml").write_text(flag + "enhanced_retrieval: {stages: [rewrite]}\n")
    ran = call("graph")
    assert ran.code == 2
    assert "enhanced_autonomous_retrieval" in ran.err


@pytest.mark.covers("C8")
def test_the_flag_alone_shows_what_works_without_a_model_and_the_check_says_what_does_not(call, tmp_path):
    (tmp_path / "groundgraph.yaml").write_text("enhanced_autonomous_retrieval: true\n")
    out = call("graph").out
    assert not steps(out) & ALL
    assert "backfill_facts" in out
    checked = call("config", "check", "groundgraph.yaml")
    assert checked.code == 0
    assert "decomposition and rewrite are left out without a model" in checked.out + checked.err
