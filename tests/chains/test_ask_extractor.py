"""What may extract an intent, and how it is asked (I2)."""

from __future__ import annotations

import functools

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableLambda

from groundgraph.answers.extract_intent import TITLE, AskExtractor, read_extraction
from groundgraph.models.replies import prompt_messages
from groundgraph.prompts import Prompts
from groundgraph.testing import Reply, ScriptedChatModel
from groundgraph.testing.models import ScriptedStatusError

pytestmark = pytest.mark.covers("I2")

SCHEMA = {"title": TITLE, "description": "d", "type": "object", "properties": {"text_queries": {"type": "array"}}}
REPLY = '{"text_queries": ["one query"]}'


class WithoutStructure(ScriptedChatModel):
    """Refuses structured output as a server does that does not know it."""

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        raise AssertionError("only the asynchronous call is used")

    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        if kwargs.get("tools"):
            self._receive(messages, stop, {}, streamed=False)
            raise ScriptedStatusError(400, {})
        return await super()._agenerate(messages, stop, run_manager, **kwargs)


def prompt(question: str) -> list[BaseMessage]:
    return prompt_messages("Search.", question)


async def asked(extractor) -> object:
    return await AskExtractor(extractor, Prompts())(prompt("hm"), SCHEMA)


async def test_a_model_is_asked_by_its_structured_output():
    model = ScriptedChatModel(REPLY)
    reply = await asked(model)
    assert read_extraction(reply, 3).text_queries == ["one query"]
    assert model.calls[0].kwargs["tools"][0]["function"]["name"] == TITLE
    assert reply.tool_calls[0]["name"] == TITLE


async def test_a_model_without_structured_output_is_asked_for_text():
    reply = await asked(FakeListChatModel(responses=[REPLY]))
    assert read_extraction(reply, 3).text_queries == ["one query"]


async def test_a_server_that_refuses_structured_output_is_asked_for_text_and_not_again():
    model = WithoutStructure(REPLY)
    ask = AskExtractor(model, Prompts())
    for _ in range(2):
        assert (await ask(prompt("hm"), SCHEMA)).text == REPLY
    assert len(model.calls) == 3


async def test_a_prompt_that_is_refused_both_ways_says_nothing_about_structured_output():
    model = ScriptedChatModel([Reply(status=400), Reply(status=400), REPLY])
    ask = AskExtractor(model, Prompts())
    with pytest.raises(ScriptedStatusError):
        await ask(prompt("much too long"), SCHEMA)
    assert (await ask(prompt("hm"), SCHEMA)).tool_calls
    assert ["tools" in call.kwargs for call in model.calls] == [True, False, True]


async def test_other_errors_are_not_taken_for_a_lack_of_structured_output():
    ask = AskExtractor(ScriptedChatModel([Reply(status=401), REPLY]), Prompts())
    with pytest.raises(ScriptedStatusError):
        await ask(prompt("hm"), SCHEMA)


async def coroutine(messages):
    return {"text_queries": [messages[-1].text]}


class Callable_:
    async def __call__(self, messages):
        return {"text_queries": [messages[-1].text]}


@pytest.mark.parametrize(
    "extractor",
    [
        lambda messages: {"text_queries": [messages[-1].text]},
        functools.partial(coroutine),
        coroutine,
        Callable_(),
        RunnableLambda(lambda messages: {"text_queries": [messages[-1].text]}),
    ],
)
async def test_a_function_or_runnable_is_given_the_messages(extractor):
    assert read_extraction(await asked(extractor), 3).text_queries == ["hm"]
