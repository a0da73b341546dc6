"""The choices of one run over those of the settings (T5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph import turn_graph
from groundgraph.core.errors import InputInvalid
from groundgraph.settings.context import Context, Options, chosen_fields, options_in_force
from groundgraph.settings.load_settings import load_settings
from groundgraph.testing import InMemorySource

SETTINGS = load_settings(
    {
        "retrieval": {"top_k": 7, "score_threshold": 0.4},
        "synthesis": {
            "style": "hybrid",
            "instruction": "Be brief.",
            "allow_parametric": True,
            "citation_format": "source",
        },
    }
)
CONFIGURED = Options("hybrid", 7, 0.4, "Be brief.", True, True, "source", None, None)
CHOICES = st.fixed_dictionaries(
    {},
    optional={
        "style": st.sampled_from(["conversational", "structured", "hybrid"]),
        "top_k": st.integers(1, 1000),
        "score_threshold": st.floats(0, 1),
        "instruction": st.text(max_size=9),
        "allow_parametric": st.sampled_from([True, False, "bridge"]),
        "require_citations": st.booleans(),
        "citation_format": st.sampled_from(["section", "source"]),
        "language": st.sampled_from(["en", "ru"]),
        "sources": st.lists(st.text(min_size=1), min_size=1, max_size=3),
    },
)


@pytest.mark.covers("T5")
@given(CHOICES, CHOICES)
def test_the_run_wins_over_what_was_recorded_over_the_settings(recorded, chosen):
    options = options_in_force(SETTINGS, recorded, Context(**chosen))
    for name in Options.__dataclass_fields__:
        expected = chosen.get(name, recorded.get(name, getattr(CONFIGURED, name)))
        assert getattr(options, name) == expected


@pytest.mark.covers("T3")
@given(CHOICES)
def test_a_resumed_run_has_the_choices_that_the_turn_began_with(chosen):
    recorded = chosen_fields(Context(**chosen))
    assert recorded == chosen
    assert options_in_force(SETTINGS, recorded, None) == options_in_force(SETTINGS, {}, Context(**chosen))


@pytest.mark.parametrize(
    "choice",
    [{"top_k": 0}, {"top_k": 1001}, {"score_threshold": 2}, {"style": "poem"}, {"sources": []}, {"typo": 1}]
    + [{"language": "xx"}, {"allow_parametric": "yes please"}, {"instruction": "x" * 20_001}],
)
def test_a_choice_that_cannot_work_is_refused(choice):
    with pytest.raises(InputInvalid) as caught:
        Context(**choice)
    told = str(caught.value)
    assert told.startswith("The context of this run cannot be used. ")
    assert next(iter(choice)) in told
    assert "pydantic" not in told
    assert "poem" not in told
    assert caught.value.__cause__ is None


@pytest.mark.covers("F11")
async def test_a_bad_context_of_a_run_is_told_in_a_sentence_of_ours():
    graph = turn_graph(load_settings({}), sources=[InMemorySource(["a text"], name="docs")])
    with pytest.raises(InputInvalid, match="top_k: Input should be greater than or equal to 1"):
        await graph.ainvoke({"messages": [("user", "What?")]}, context={"top_k": 0})


@pytest.mark.covers("U3")
def test_every_field_is_described_for_studio():
    schema = Context.model_json_schema()["properties"]
    assert all(field.get("description") for field in schema.values())
