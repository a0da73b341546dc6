"""A prompt in the shape that strict chat templates take, with marks where a provider keeps what is marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundgraph.models.call_model import ChainModel, Passage
from groundgraph.models.replies import in_turns, prompt_messages
from groundgraph.prompts import Prompts, fence_of
from groundgraph.testing import ScriptedChatModel

if TYPE_CHECKING:
    from langchain_anthropic import ChatAnthropic

MARK = {"cache_control": {"type": "ephemeral"}}


def claude() -> ChatAnthropic:
    # Takes a second to load, which each process of the tests would do that only collects them.
    from langchain_anthropic import ChatAnthropic

    return ChatAnthropic(model="claude-sonnet-4-5", api_key="k")  # type: ignore[arg-type, call-arg]


def test_a_provider_with_marks_keeps_the_instructions_and_what_other_prompts_begin_with():
    system, user = in_turns(prompt_messages("s", "document", "passage", "q", model=claude(), shared=1))
    assert system.content == [{"type": "text", "text": "s", **MARK}]
    assert user.content == [
        {"type": "text", "text": "document\n\n", **MARK},
        {"type": "text", "text": "passage"},
        {"type": "text", "text": "q"},
    ]
    plain = in_turns(prompt_messages("s", "document", "passage", "q", model=ScriptedChatModel("x"), shared=1))
    assert [message.content for message in plain] == ["s", "document\n\npassage\n\nq"]


async def test_two_passages_of_a_document_begin_with_the_same_text():
    model, texts = ScriptedChatModel("It is about oil."), []
    chain = ChainModel(model, Prompts(), 5, 1)
    for passage in ("Pump 17 needs oil.", "Pump 18 needs water."):
        await chain.text("write_place", [Passage("document", "All pumps."), Passage("passage", passage)])
        texts.append(model.calls[-1].messages[1].text)
    shared = texts[0].partition("Pump 17")[0]
    assert "All pumps." in shared
    assert texts[1].startswith(shared)


def test_a_fence_is_made_of_a_secret_of_the_process():
    assert fence_of("a") == fence_of("a") != fence_of("b")
    import hashlib

    assert fence_of("a") != hashlib.blake2b(b"a", digest_size=6).hexdigest()
