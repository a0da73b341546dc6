"""What a message goes through before it enters a thread (T2, T9)."""

from __future__ import annotations

import pytest
from growth import cpu_seconds
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.types import Command

from groundgraph.core.errors import InputInvalid
from groundgraph.nodes.begin_turn import MARK, RESERVED_METADATA, clean_message, take_in
from groundgraph.settings.services import LimitSettings

LIMITS = LimitSettings(message_chars=1000)
ANY = st.text(st.one_of(st.characters(), st.sampled_from("\x00\ud800\udfff")), max_size=50)


def only(given, **options):
    [message] = take_in(given, LIMITS, **options)["messages"]
    return message


@pytest.mark.covers("fault 5")
@pytest.mark.parametrize("bad", ["\x00", chr(0xD800), chr(0xDFFF)])
def test_a_lone_surrogate_or_nul_is_replaced_and_marked(bad):
    message = only({"question": f"a{bad}b{bad}"})
    assert message.content == "a\ufffdb\ufffd"
    assert message.additional_kwargs[MARK] == {"replaced": 2}


@pytest.mark.covers("fault 5")
@pytest.mark.guard
@given(ANY)
def test_whatever_comes_in_can_be_encoded_and_has_its_length(text):
    message = only({"question": text})
    assert "\x00" not in message.content
    message.content.encode("utf-8")
    assert len(message.content) == len(text)
    bad = sum(character == "\x00" or "\ud800" <= character <= "\udfff" for character in text)
    assert message.additional_kwargs.get(MARK, {}).get("replaced", 0) == bad


@pytest.mark.covers("fault 3")
@given(st.text(max_size=50))
def test_clean_text_passes_byte_for_byte_and_unmarked(text):
    clean = text.replace("\x00", "")
    message = only({"question": clean})
    assert message.content == clean
    assert message.additional_kwargs == {}


@given(ANY)
def test_cleaning_twice_changes_nothing_more(text):
    once = clean_message(HumanMessage(text), LIMITS)
    assert clean_message(once, LIMITS, trusted=True) == once


@pytest.mark.covers("fault 2")
def test_a_megabyte_is_rejected_or_truncated_at_once():
    rejected = clean_message(HumanMessage("a" * 1_000_000), LimitSettings())
    truncated = clean_message(HumanMessage("a" * 1_000_000), LimitSettings(long_message="truncate"))
    assert cpu_seconds(lambda: clean_message(HumanMessage("a" * 1_000_000), LimitSettings())) < 0.1
    assert rejected.additional_kwargs[MARK] == {"rejected": 1_000_000}
    assert len(rejected.content) == 200
    assert truncated.additional_kwargs[MARK] == {"truncated": 1_000_000}
    assert len(truncated.content) == LimitSettings().message_chars


@pytest.mark.covers("fault 2")
@pytest.mark.parametrize("length", [999, 1000])
def test_a_message_at_the_limit_passes(length):
    assert only({"question": "a" * length}).additional_kwargs == {}


@pytest.mark.covers("T2")
@pytest.mark.parametrize(
    "form",
    [
        {"question": "hi"},
        {"messages": "hi"},
        {"messages": [HumanMessage("hi")]},
        {"messages": ("user", "hi")},
        {"messages": [("user", "hi")]},
        {"messages": [{"role": "user", "content": "hi"}]},
        {"messages": [{"type": "human", "content": "hi"}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]},
        "hi",
        [HumanMessage("hi")],
        ("user", "hi"),
    ],
)
def test_every_form_of_a_message_that_langgraph_takes_is_taken(form):
    message = only(form)
    assert isinstance(message, HumanMessage)
    assert message.text == "hi"


@pytest.mark.covers("T2")
def test_a_question_comes_behind_the_messages():
    taken = take_in({"messages": [AIMessage("before")], "question": "hi", "other": 1}, LIMITS)
    assert [message.text for message in taken["messages"]] == ["before", "hi"]
    assert taken["other"] == 1
    assert taken["question"] == taken["messages"][-1].id


@pytest.mark.covers("T6")
def test_an_input_without_messages_stays_without_them():
    assert take_in({"messages": []}, LIMITS) == {"messages": []}


@pytest.mark.covers("T3")
@pytest.mark.parametrize("given", [None, Command(resume=1)])
def test_what_is_no_mapping_resumes_and_passes_unchanged(given):
    assert take_in(given, LIMITS) is given


def test_blocks_that_hold_a_forbidden_character_become_clean_text():
    message = only({"messages": [HumanMessage([{"type": "text", "text": "a\x00"}])]})
    assert message.text == "a\ufffd"


def test_every_message_is_cleaned_only_the_users_are_cut_and_ids_stay():
    given = [SystemMessage("s\x00"), AIMessage("a" * 5000), ToolMessage("t\x00", tool_call_id="1")]
    taken = take_in({"messages": [*given, HumanMessage("h\x00", id="m1", name="n")]}, LIMITS)["messages"]
    assert [str(message.text)[:2] for message in taken] == ["s\ufffd", "aa", "t\ufffd", "h\ufffd"]
    assert len(taken[1].text) == 5000
    assert (taken[3].id, taken[3].name) == ("m1", "n")


@pytest.mark.covers("fault 2")
def test_a_mark_that_a_client_sets_does_not_get_around_the_limit():
    forged = HumanMessage("a" * 5000, additional_kwargs={"groundgraph": {"x": 1}})
    assert len(only({"messages": [forged]}).text) <= 1000
    assert only({"messages": [HumanMessage("a", additional_kwargs={"groundgraph": "yes"})]}).additional_kwargs == {}


@pytest.mark.parametrize("given", [{"messages": [object()]}, {"messages": [("nobody", "x")]}, {"metadata": [1]}])
def test_what_no_turn_can_take_is_a_typed_error(given):
    with pytest.raises(InputInvalid):
        take_in(given, LIMITS)


def test_the_callers_input_is_not_changed():
    message = HumanMessage("a\x00")
    given = {"messages": [message], "metadata": {RESERVED_METADATA[0]: 1}}
    take_in(given, LIMITS)
    assert given == {"messages": [message], "metadata": {RESERVED_METADATA[0]: 1}}
    assert message.content == "a\x00"


@pytest.mark.covers("V1")
def test_metadata_that_only_groundgraph_writes_is_dropped_from_strangers():
    metadata = {"retrieval_provenance": 1, "retrieval_provenance_history": [], "synthesis_style": "hybrid"}
    assert take_in({"metadata": metadata}, LIMITS)["metadata"] == {"synthesis_style": "hybrid"}
    assert take_in({"metadata": metadata}, LIMITS, trusted=True)["metadata"] == metadata


@pytest.mark.covers("B7")
def test_an_input_that_asks_nothing_under_a_known_name_is_refused_by_name() -> None:
    with pytest.raises(InputInvalid, match=r"no key 'query'.*messages, question, metadata"):
        take_in({"query": "When is pump 17 serviced?"}, LimitSettings())
    with pytest.raises(InputInvalid, match="The input is empty"):
        take_in({}, LimitSettings())
    # Nor does the state of a parent that is empty, or holds what no turn knows alone.
    with pytest.raises(InputInvalid, match="The input is empty"):
        take_in({}, LimitSettings(), trusted=True)
    assert take_in({"metadata": {"a": 1}}, LimitSettings()) == {"metadata": {"a": 1}}
    assert "messages" in take_in({"question": "When?", "more": 1}, LimitSettings())
    with pytest.raises(InputInvalid, match="the turn is given 'own', and neither"):
        take_in({"own": 1}, LimitSettings(), trusted=True)


@pytest.mark.covers("T2")
def test_an_input_that_asks_twice_is_refused_unless_a_parents_state_holds_both() -> None:
    both = {"messages": [("user", "How often is pump 17 serviced?")], "question": "At what does valve 3 open?"}
    with pytest.raises(InputInvalid, match=r"asks twice.*valve 3.*pump 17.*Give one"):
        take_in(both, LIMITS)
    taken = take_in(both, LIMITS, trusted=True)
    assert [message.text for message in taken["messages"]] == [both["messages"][0][1], both["question"]]
    same = take_in({**both, "question": both["messages"][0][1]}, LIMITS)
    assert len(same["messages"]) == 1
