"""What a turn came to, and in which style it answers (S2, S8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.answers.provenance import absence_outcome, asked_style
from groundgraph.core.intent import EMPTY_INTENT
from groundgraph.core.turn_values import EMPTY_RETRIEVAL
from groundgraph.settings.context import Context, options_in_force
from groundgraph.settings.load_settings import load_settings

STYLES = ["conversational", "structured", "hybrid"]
REFUSED = {**EMPTY_RETRIEVAL, "status": "skipped", "error_type": "FilterInvalid"}
UNFILTERED = {**EMPTY_RETRIEVAL, "status": "skipped", "error_type": "RequiredField"}
RETRIEVALS = st.lists(
    st.sampled_from(
        [{**EMPTY_RETRIEVAL, "status": s} for s in ("ok", "failed", "timed_out", "skipped")] + [REFUSED, UNFILTERED]
    )
)


@pytest.mark.covers("S8")
@pytest.mark.guard
@given(RETRIEVALS)
def test_an_outage_never_looks_like_ignorance(retrievals):
    broken = any(entry["status"] != "ok" and entry != UNFILTERED for entry in retrievals)
    if broken or not retrievals:
        assert absence_outcome(iter(retrievals)) == "unavailable"
    else:
        assert absence_outcome(iter(retrievals)) == "insufficient"


@pytest.mark.covers("S8")
@given(RETRIEVALS, st.randoms())
def test_the_outcome_does_not_depend_on_the_order_of_the_sources(retrievals, random):
    shuffled = random.sample(retrievals, len(retrievals))
    assert absence_outcome(shuffled) == absence_outcome(retrievals)


MAYBE = st.sampled_from([None, *STYLES])


@pytest.mark.covers("S2")
@given(MAYBE, MAYBE, MAYBE, MAYBE, st.sampled_from([None, "llm", "template"]))
def test_the_cascade_goes_from_the_turn_to_the_legacy_mode(extracted, session, run, configured, mode):
    settings = load_settings({"synthesis": {"style": configured, "mode": mode}})
    options = options_in_force(settings, {}, Context(style=run))
    legacy = "structured" if mode == "template" else "conversational"
    metadata = {} if session is None else {"synthesis_style": session}
    expected = extracted or session or run or configured or legacy
    assert asked_style({"output_style": extracted}, metadata, options) == expected


@pytest.mark.covers("S2")
@pytest.mark.parametrize("unknown", ["poem", "", 7, None, ["hybrid"], {"a": 1}])
def test_a_style_that_does_not_exist_is_passed_over(unknown):
    options = options_in_force(load_settings({"synthesis": {"style": "hybrid"}}), {}, None)
    assert asked_style({"output_style": unknown}, {"synthesis_style": unknown}, options) == "hybrid"
    assert asked_style(EMPTY_INTENT, {}, options) == "hybrid"
