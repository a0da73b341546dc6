"""The order of messages that every chat template takes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from groundgraph.models.replies import in_turns

text = st.text(max_size=8)
content = text | st.lists(st.builds(lambda said: {"type": "text", "text": said}, text), max_size=2)
names = st.none() | st.just("bob")
said = st.one_of(st.builds(HumanMessage, content, name=names), st.builds(AIMessage, content, name=names))
opened = st.lists(st.builds(SystemMessage, text), max_size=1)


@given(opened, st.lists(said, max_size=6))
def test_roles_alternate_the_user_is_first_and_no_text_is_lost_but_of_an_assistant_that_speaks_first(system, messages):
    sent = in_turns([*system, *messages])
    roles = [message.type for message in sent]
    assert all(one != two for one, two in zip(roles, roles[1:], strict=False))
    assert roles[len(system) : len(system) + 1] in ([], ["human"])
    assert not any(message.name for message in sent)
    lost = next((n for n, message in enumerate(messages) if message.type == "human"), len(messages))
    kept = "".join(message.text for message in [*system, *messages[lost:]])
    assert "".join(message.text for message in sent).replace("\n\n", "") == kept.replace("\n\n", "")


def test_parts_are_a_blank_line_apart_and_what_was_given_stays_as_it_was():
    given_ones = [SystemMessage("s"), HumanMessage("evidence", name="x"), HumanMessage("question")]
    assert [message.content for message in in_turns(given_ones)] == ["s", "evidence\n\nquestion"]
    assert given_ones[1].name == "x"
