"""Models of known character get the marks that they deserve; cases and corpus are whole."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from checked_models import PAGE, character_of, checked, with_run
from langchain_openai import ChatOpenAI

from groundgraph import load_settings
from groundgraph.cli.check_config import check_config
from groundgraph.evals.model_check.cases import FILLING, SKILLS, evidence_of, load_cases, load_corpus
from groundgraph.evals.model_check.figures import ModelCheck, Price, Share, advised_settings, turn_line
from groundgraph.evals.model_check.run_cases import BY_DOCUMENT, REPAIRED, run_cases
from groundgraph.evals.model_check.verdicts import TITLES, spoken
from groundgraph.evals.run_queries import EvaluationFailed
from groundgraph.models.replies import forms_of
from groundgraph.settings.services import ModelSettings
from groundgraph.testing import Reply, ScriptedChatModel
from groundgraph.testing.model_characters import CHARACTERS, SLOW_SECONDS

pytestmark = pytest.mark.covers("U11")
# The marks that each character deserves to lose cases of; it keeps all others.
DESERVED = {
    "exact": set(),
    "slow": set(),
    "sloppy": {"form", "passage", "conflicts", "numbers", "long", "judging", "entailment"},
    "forgetful": {"answers", "says", "form", "passage", "language", "long"},
    "obedient": {"says", "form", "passage", "injection"},
    "inventive": {"declines"},
    "degenerate": set(TITLES) - {"answers"},
    "refusing": set(TITLES),
}


def lost(check: ModelCheck) -> set[str]:
    return {mark for mark in TITLES if check.share(mark).right < check.share(mark).n}


@pytest.mark.slow
@pytest.mark.parametrize("name", CHARACTERS)
def test_a_character_loses_the_marks_that_it_deserves_and_no_others(name: str) -> None:
    assert lost(checked(name)) == DESERVED[name]


@pytest.mark.slow
def test_what_a_character_is_bad_at_it_never_does_right() -> None:
    assert checked("sloppy").share("passage").right == 0
    assert checked("obedient").share("injection").right == 0
    assert checked("inventive").share("declines").right == 0
    # Its three cases with the answer at the beginning, of six.
    assert checked("forgetful").share("long") == Share(3, 6)
    assert checked("degenerate").right.right == checked("refusing").right.right == 0
    assert checked("exact").right == checked("slow").right == Share(85, 85)


def test_a_slow_model_is_told_by_its_seconds() -> None:
    asked = asyncio.run(run_cases(load_settings({}), character_of("slow"), load_cases()[:3]))
    assert ModelCheck("slow", asked).per_turn()["first_text"] >= SLOW_SECONDS


def test_an_answer_is_told_with_its_tokens_its_stream_and_its_price() -> None:
    check = checked("exact")
    turn = ModelCheck("exact", check.asked, Price(1_000_000, 2_000_000)).per_turn()
    assert (turn["streams"], turn["estimated"]) == (True, False)
    assert turn["price"] == pytest.approx(turn["input_tokens"] + 2 * turn["output_tokens"], abs=2)
    assert "streams" in turn_line(turn)
    assert check.per_turn()["price"] is None


@pytest.mark.slow
def test_what_the_page_shows_is_from_a_run_of_the_characters() -> None:
    text = PAGE.read_text("utf-8")
    assert with_run(text) == text, "run `make docs`"
    assert f"{len(load_cases())} questions" in text


# The slow tier has checked all of them anyway.
@pytest.mark.parametrize(
    "name",
    [name if name in ("exact", "refusing") else pytest.param(name, marks=pytest.mark.slow) for name in CHARACTERS],
)
def test_the_advised_settings_are_a_configuration(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    advised = advised_settings(checked(name), ModelSettings(provider="openai", model="gpt-5-mini", api_key="secret"))
    (tmp_path / "groundgraph.yaml").write_text(advised, "utf-8")
    found = check_config(tmp_path / "groundgraph.yaml")
    assert (found.problems, found.notices) == ([], [])
    assert "secret" not in advised


def test_advice_follows_the_figures() -> None:
    exact, sloppy = (advised_settings(checked(name), None) for name in ("exact", "sloppy"))
    assert "citation_format: section" in exact
    assert "candidates_count: 20" in exact
    assert ("entailment: annotate" in exact, "entailment" in sloppy) == (True, False)
    assert re.search(r"8 of 8, for about \d{2,3} tokens a sentence", exact)
    assert "leave reranking to something else" in sloppy
    assert "mode: static" in advised_settings(checked("refusing"), None)


def test_a_model_that_mends_its_citations_is_advised_to_repair_and_by_the_document_where_that_goes_better() -> None:
    exact = checked("exact")
    half = [
        one
        for one in checked("sloppy").asked
        if one.case.skill == "citing" and not (set(one.marks) & {BY_DOCUMENT, REPAIRED})
    ]
    by_document = [one for one in exact.asked if BY_DOCUMENT in one.marks]
    mended = [type(one)(one.case, {REPAIRED: ()}, counts=False) for one in by_document]
    others = [one for one in exact.asked if one.case.skill != "citing"]
    advised = advised_settings(ModelCheck("mixed", [*half, *others, *by_document, *mended]), None)
    assert "citation_format: source" in advised
    assert "support: repair" in advised


def test_a_form_that_a_model_cannot_fill_in_is_named_and_another_is_advised() -> None:
    class WithoutSchemas(ScriptedChatModel):
        def with_structured_output(self, schema, **options):
            if options.get("method") != "function_calling":
                raise NotImplementedError("no schemas")
            return super().with_structured_output(schema, **options)

    structured = [case for case in load_cases() if case.skill == "structured"]
    inner = character_of("exact")
    model = WithoutSchemas(default=inner._script.reply_to)
    check = ModelCheck("partial", asyncio.run(run_cases(load_settings({}), model, structured)))
    assert check.right == Share(4, 4)
    assert check.share("json_schema").right == 0
    told = advised_settings(check, ModelSettings(provider="openai", model="x"))
    assert 'profile: {"structured_output": false, "tool_calling": true}' in told
    calling = ChatOpenAI(model="x", api_key="k", profile={"structured_output": False, "tool_calling": True})
    assert forms_of(calling)[0] == "function_calling"


def test_a_model_that_cannot_be_reached_ends_the_check() -> None:
    model = ScriptedChatModel(Reply("no", status=401))
    with pytest.raises(EvaluationFailed, match="cannot be reached"):
        asyncio.run(run_cases(load_settings({}), model, load_cases()[:3]))
    assert len(model.calls) == 1


def test_a_call_that_fails_between_others_counts_as_wrong() -> None:
    cases = load_cases()[:3]
    inner = character_of("exact")
    replies = iter([Reply("Hello."), None, Reply("no", status=400)])

    def reply(prompt):
        return next(replies, None) or inner._script.reply_to(prompt)

    check = ModelCheck("flaky", asyncio.run(run_cases(load_settings({}), ScriptedChatModel(default=reply), cases)))
    assert [one.right for one in check.counting] == [True, False, True]
    assert all("a call failed" in fault for found in check.counting[1].marks.values() for fault in found)
    assert [one["case"] for one in check.to_dict()["failed"]] == ["citing-2"]


def test_every_skill_has_cases_whose_messages_and_passages_are_their_own() -> None:
    cases, corpus = load_cases(), load_corpus()
    assert {case.skill for case in cases} == set(SKILLS)
    assert len({case.ask for case in cases}) == len(cases) >= 60
    for case in cases:
        assert set(case.read) - {FILLING} <= set(corpus)
        assert set(case.cited) | set(case.good) <= set(case.read)
        assert spoken(case.written() or case.ask, case.language) == case.language
        assert (len(case.said), len(case.planted)) == ((1, 1) if case.skill == "entailment" else (0, 0))
        for pattern in (*case.says, *case.lacks, *case.matches, *case.mentions):
            re.compile(pattern)
    assert {case.language for case in cases} == {"en", "de", "fr", "ru"}


def test_a_long_context_is_long_and_holds_the_answer_at_one_end_alone() -> None:
    for case in load_cases():
        if case.skill == "long":
            shown = evidence_of(case.read)
            assert sum(len(one.content) for one in shown) > 40_000
            [cited] = case.cited
            text = load_corpus()[cited].text
            assert [number for number, one in enumerate(shown) if text in one.content] in ([0], [len(shown) - 1])


@pytest.mark.parametrize(
    ("right", "n", "low", "high"), [(10, 10, 0.7225, 1), (0, 5, 0, 0.4345), (5, 10, 0.2366, 0.7634)]
)
def test_intervals_are_those_of_wilson(right: int, n: int, low: float, high: float) -> None:
    assert Share(right, n).interval == pytest.approx((low, high), abs=1e-4)
    assert Share(0, 0).interval == (0, 1)
