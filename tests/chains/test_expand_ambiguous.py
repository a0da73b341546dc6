"""The keywords that a message gets which leans on the conversation (I5)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from groundgraph.answers.generate_queries import MAX_KEYWORDS, expanded, keywords
from groundgraph.text.follow_up import spoken_stems
from groundgraph.text.words import stem, stop_words

pytestmark = pytest.mark.covers("I5")

TALK = [
    HumanMessage("What are the OAuth grant types?"),
    AIMessage("There are four: the implicit flow is one [1]."),
    HumanMessage("How do refresh tokens expire in OAuth?"),
]


def test_the_most_frequent_words_come_first_and_then_those_said_last():
    assert expanded("Tell me more", TALK, include_assistant=False) == ("oauth refresh tokens expire grant Tell me more")


def test_numbers_and_names_come_before_all_others_and_asking_words_are_none():
    said = [HumanMessage("How often is pump 17 serviced in Tver, and how often is the pump greased?")]
    assert expanded("Tell me more", said, include_assistant=False) == "17 tver pump serviced greased Tell me more"


def test_the_assistants_words_count_only_when_they_are_included():
    assert "implicit" in expanded("Tell me more", TALK[1:2], include_assistant=True)
    assert expanded("Tell me more", TALK[1:2], include_assistant=False) == "Tell me more"


def test_a_listing_of_evidence_below_an_answer_is_not_what_the_assistant_said():
    answer = AIMessage("Four flows.\nSources: unrelated pumps", response_metadata={"body_chars": 11})
    assert expanded("More?", [answer], include_assistant=True) == "four flows More?"


def test_no_word_is_given_twice_and_forms_of_a_word_count_as_one():
    found = keywords(["token token", "the tokens of a grant"], without="Which grants are meant by this?")
    assert found == ["tokens"]
    assert keywords(["Насосы и насосов"], without="что ещё") == ["насосы"]


@given(st.lists(st.text(alphabet="abcde что ofthe12 -"), max_size=4), st.text(alphabet="abcde что of12 "))
def test_keywords_are_few_distinct_and_new(texts, message):
    found = keywords(texts, without=message)
    stemmed = [stem(word) for word in found]
    assert len(found) <= MAX_KEYWORDS
    assert len(set(stemmed)) == len(found)
    assert not set(stemmed) & set(spoken_stems(message))
    assert not set(found) & stop_words()
    assert all(len(word) >= 3 or any(character.isdigit() for character in word) for word in found)
    earlier = [HumanMessage(text) for text in texts]
    assert expanded(message, earlier, include_assistant=False).endswith(message)
