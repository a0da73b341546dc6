"""What in the user's own words supports a value (I3)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.answers.ground_fields import UserWords, is_grounded, is_meant
from groundgraph.core.schema import ExtractionAnnotation
from groundgraph.text.words import stems

pytestmark = pytest.mark.covers("I3")

PLAIN = ExtractionAnnotation()


def grounded(message: str, value: object, spec: dict | None = None, **annotation: object) -> bool:
    chosen = ExtractionAnnotation(**annotation)
    return is_grounded("severity", spec or {"type": "string"}, chosen, value, UserWords(message))


ENUM = {"enum": ["critical", "minor", "in_progress", "критический", "bug"]}


@pytest.mark.parametrize(
    ("message", "value", "supported"),
    [
        ("critical incidents", "critical", True),
        ("uncritical incidents", "critical", False),
        ("what is in progress", "in_progress", True),
        ("progress in general", "in_progress", False),
        ("all bugs", "bug", True),
        ("критические инциденты", "критический", True),
        ("incidents", "critical", False),
        ("not critical", "critical", False),
        ("incidents other than critical ones", "critical", False),
        ("what is outside critical ones", "critical", False),
        ("was außerhalb critical liegt", "critical", False),
        ("lo que está fuera de critical", "critical", False),
        ("ce qui est hors de critical", "critical", False),
        ("ceux dont l'état est critical", "critical", True),
        ("что за пределами critical", "critical", False),
        ("не критические инциденты", "критический", False),
        ("not minor but critical incidents", "critical", True),
        ("the critical ones, not the minor ones", "critical", True),
    ],
)
def test_an_enum_value_stands_at_word_boundaries(message, value, supported):
    assert grounded(message, value, ENUM) is supported


@pytest.mark.parametrize(
    ("message", "value", "supported"),
    [
        ("incidents owned by Maria Lopez", "Maria Lopez", True),
        ("incidents owned by Maria", "Maria Lopez", True),
        ("incidents owned by Maria", "Maria Teresa Lopez", False),
        ("инциденты насосной станции", "насосная станция", True),
        ("incidents", "the of", False),
        ("ticket INC-1042", "INC-1042", True),
        ("files in C++", "C++", True),
        ("files in C", "++", False),
        ("x", "   ", False),
    ],
)
def test_a_string_shares_its_words_and_all_its_codes(message, value, supported):
    assert grounded(message, value) is supported


@pytest.mark.parametrize(
    ("message", "value", "supported"),
    [
        ("more than 5 incidents", 5, True),
        ("more than five incidents", 5, True),
        ("more than 15 incidents", 5, False),
        ("over 1,500 of them", 1500, True),
        ("version 1.5", 5, False),
    ],
)
def test_a_number_must_occur(message, value, supported):
    assert grounded(message, value, {"type": "number"}) is supported


def test_yes_and_no_need_a_word_of_the_field():
    spec = {"type": "boolean", "description": "whether it was resolved"}
    assert is_grounded("done", spec, PLAIN, False, UserWords("incidents that are not resolved"))
    assert not is_grounded("done", spec, PLAIN, True, UserWords("incidents of March"))


def test_annotations_choose_how_strict():
    assert grounded("incidents", "critical", ENUM, grounding="skip")
    assert not grounded("by Maria", "Maria Lopez", grounding="exact")
    assert grounded("by Maria Lopez", "Maria Lopez", grounding="exact")
    assert grounded("critcal incidents", "critical", ENUM, grounding="fuzzy")
    assert not grounded("incidents", "critical", ENUM, grounding="fuzzy")
    assert grounded("by Maria", "Maria Lopez", overlap_threshold=0.5)
    assert not grounded("by Maria", "Maria Lopez", overlap_threshold=0.6)
    assert grounded("критические инциденты", "critical", ENUM, cues={"critical": ["критический"]})
    assert not grounded("мелкие инциденты", "critical", ENUM, cues={"critical": ["критический"]})


@pytest.mark.parametrize(
    ("section", "message", "value", "annotation", "supported"),
    [
        ("scope", "Give me an overview", "broad", {}, True),
        ("scope", "a broad search", "broad", {}, True),
        ("scope", "What are grant types?", "broad", {}, False),
        ("scope", "What exactly is it?", "exact", {}, True),
        ("scope", "Give me an overview", "broad", {"grounding": "exact"}, False),
        ("scope", "a brod search", "broad", {"grounding": "fuzzy"}, True),
        ("scope", "What are grant types?", "broad", {"grounding": "skip"}, True),
        ("scope", "the whole nine yards", "broad", {"cues": {"broad": ["whole nine yards"]}}, True),
        ("style", "Show me the sources", "structured", {}, True),
        ("style", "Show me the sources", "structured", {"grounding": "exact"}, False),
        ("style", "What are the sources of law?", "structured", {}, False),
        ("style", "Give me a hybrid answer", "hybrid", {}, True),
    ],
)
def test_scope_and_style_need_a_cue_or_the_word(section, message, value, annotation, supported):
    assert is_meant(section, value, ExtractionAnnotation(**annotation), UserWords(message)) is supported


@given(
    st.text(max_size=40),
    st.one_of(st.text(max_size=20), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.booleans()),
    st.sampled_from([{}, {"grounding": "exact"}, {"grounding": "fuzzy"}]),
)
def test_grounding_never_fails(message, value, annotation):
    said = UserWords(message)
    for spec in ({}, {"type": "number"}, {"enum": [value]}):
        assert is_grounded("f", spec, ExtractionAnnotation(**annotation), value, said) in (True, False)


@given(st.text(alphabet="abc дом12 -", min_size=1, max_size=20).filter(lambda text: any(map(str.isalnum, text))))
def test_a_value_supports_itself(value):
    assert UserWords(f"the {value} please").holds(value)
    # A small word says nothing there: see below.
    assert grounded(f"the {value} please", value) or not stems(value)


@pytest.mark.parametrize(
    ("message", "value", "spec", "supported"),
    [
        # Small words stand in any message, and are a value only where they are written as one.
        ("What do the incidents of Graz cost?", "the", {}, False),
        ("What do the incidents of Graz cost?", "of", {}, False),
        ("The incidents", "The", {}, False),
        ("Was kostet der Einsatz?", "der", {}, False),
        ("What does it cost?", "IT", {}, False),
        ("What does IT cost?", "IT", {}, True),
        ("IT costs?", "IT", {}, True),
        ("songs by The Who", "The Who", {}, True),
        ("who is it", "The Who", {}, False),
        ("the ones with severity the", "the", {}, True),
        ("Which hall A pumps?", "A", {}, True),
        ("a pump", "A", {}, False),
        ("What does it cost us?", "US", {"enum": ["US", "UK"]}, False),
        ("What is on?", "on", {"enum": ["on", "off"]}, True),
    ],
)
def test_a_small_word_is_a_value_where_it_is_written_as_one(message, value, spec, supported):
    assert grounded(message, value, spec) is supported
