"""An intent in whatever a model replies (I2, fault 18)."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from pydantic import BaseModel

from groundgraph.answers.extract_intent import ExtractionUnreadable, read_extraction

GOOD = {"text_queries": ["grant types", "token flow"], "scope": "broad"}
TEXT = json.dumps(GOOD)


@pytest.mark.covers("fault 18")
@pytest.mark.parametrize(
    "reply",
    [
        TEXT,
        f"```json\n{TEXT}\n```",
        f"Sure! Here is the object:\n\n{TEXT}\n\nLet me know if you need more.",
        f"Of the form {{x}} it is: {TEXT}",
        f'<think>{{"text_queries": ["not this"]}}</think>{TEXT}',
        f"the user wants grants.</think>\n{TEXT}",
        TEXT.replace("]", ",]").replace("}", " , }"),
        f'{{"scope": "exact"}} no: {TEXT}',
        TEXT[:-1],
        GOOD,
        AIMessage("", tool_calls=[{"name": "retrieval_intent", "args": GOOD, "id": "1"}]),
        AIMessage("", invalid_tool_calls=[{"name": "i", "args": TEXT[:-1], "id": "1", "error": "cut off"}]),
        AIMessage([{"type": "thinking", "thinking": "{}"}, {"type": "text", "text": TEXT}]),
        type("Found", (BaseModel,), {"__annotations__": {"text_queries": list, "scope": str}})(**GOOD),
    ],
)
def test_an_object_is_found_in_fences_prose_thinking_and_calls(reply):
    found = read_extraction(reply, 3)
    assert found.text_queries == GOOD["text_queries"]
    assert found.values == {"scope": "broad"}
    assert found.extra == {}


@pytest.mark.covers("I2")
@pytest.mark.parametrize(
    ("reply", "queries"),
    [
        ('{"text_queries": "one query"}', ["one query"]),
        ('{"text_queries": ["a b", "a b", "c d", "e f"]}', ["a b", "c d"]),
        ('{"text_queries": ["a b", 7, null, ["x"], {"q": 1}, "", "?!"]}', ["a b"]),
        ('{"text_queries": ["a \\ud800 b"]}', ["a \ufffd b"]),
        ('{"text_queries": ["a b", "c d", "e', ["a b", "c d"]),
        ('{"text_queries": ["gra', ["gra"]),
        ('{"text_queries": ["gra\\', ["gra"]),
        ('{"text_queries": ["a b"], "scope": "bro', ["a b"]),
        ('{"text_queries": ["a b"], "x": 1e999, "y": NaN, "z": -Infinity}', ["a b"]),
    ],
)
def test_queries_are_read_leniently(reply, queries):
    assert read_extraction(reply, 2).text_queries == queries


@pytest.mark.covers("I2")
def test_a_value_that_was_cut_off_is_not_believed():
    assert read_extraction('{"text_queries": ["a b"], "scope": "broa', 3).values == {}


@pytest.mark.covers("I2")
def test_other_keys_are_kept_apart():
    found = read_extraction('{"text_queries": ["a b"], "topic_index": {"a": 1}, "filters": {}}', 3)
    assert found.extra == {"topic_index": {"a": 1}}
    assert found.values == {"filters": {}}


@pytest.mark.covers("fault 17")
@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        ("", "no_object"),
        ("[1, 2]", "no_object"),
        ("}{", "no_queries"),
        ('{"a":' * 10_000, "no_object"),
        ('{"text_queries": ' + "[" * 10_000, "no_object"),
        ("<think>" + TEXT, "no_object"),
        (None, "no_object"),
        ("{}", "no_queries"),
        ('{"text_queries": {"a": 1}}', "no_queries"),
        ('{"queries": ["a b"]}', "no_queries"),
    ],
)
def test_a_reply_without_an_intent_says_what_is_missing(reply, fault):
    with pytest.raises(ExtractionUnreadable) as caught:
        read_extraction(reply, 3)
    assert caught.value.fault == fault


@pytest.mark.covers("fault 17")
@given(st.integers(0, len(TEXT)), st.text(max_size=20), st.text(max_size=20))
def test_any_beginning_of_a_reply_gives_whole_queries_or_a_fault(end, before, after):
    try:
        found = read_extraction(before + TEXT[:end] + after, 3)
    except ExtractionUnreadable:
        return
    assert found.text_queries
    assert all(query == " ".join(query.split()) for query in found.text_queries)


@pytest.mark.covers("fault 17")
@given(st.text(alphabet='{}[]",:\\ \nabc`1', max_size=200))
def test_reading_never_fails_otherwise(text):
    with contextlib.suppress(ExtractionUnreadable):
        assert read_extraction(text, 3).text_queries


@pytest.mark.covers("fault 5")
@pytest.mark.parametrize("character", ["\\u0000", "\\ud800"])
def test_an_escape_of_a_character_that_no_store_takes_is_replaced_wherever_it_stands(character):
    found = read_extraction(
        f'{{"text_queries": ["a{character}b"], "x{character}": [{{"{character}": "{character}"}}]}}', 3
    )
    assert found.raw == {"text_queries": ["a\ufffdb"], "x\ufffd": [{"\ufffd": "\ufffd"}]}
    assert list(found.extra) == ["x\ufffd"]
