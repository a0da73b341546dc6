"""A question that is made of several is divided into those, which are searched for beside it."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.language_models import BaseChatModel
from langgraph.runtime import Runtime

from groundgraph.answers.generate_queries import listed_items
from groundgraph.core.errors import ModelError
from groundgraph.models.call_model import ChainModel
from groundgraph.models.replies import is_refusal, list_schema, listed_in, negates, text_of
from groundgraph.nodes.node import Node, Stage, StageInput, StageUpdate, asked, model_stage
from groundgraph.prompts import Prompts
from groundgraph.settings.context import Context
from groundgraph.settings.settings import Settings
from groundgraph.text.words import query_stems, words

# A question that is made of several, divided by a model into those.

PROMPT = "decompose_question"
_QUESTION_CHARS = 8_000


async def divide(model: ChainModel, question: str, max_sub_queries: int) -> list[str]:
    """At most `max_sub_queries` questions that together are `question`; none when the model finds only one in it.

    `question` itself is never among them: the caller asks it too.

    Args:
        model: divides.
        question: in words; the rewritten one, where there is one.
        max_sub_queries: at least 1.

    Raises:
        ModelError: the model failed, refused, may not be called any more, or wrote nothing that is part of the
            question; the caller goes on with the plain question.
    """
    variables, schema = {"max_sub_queries": max_sub_queries}, list_schema("questions", {"type": "string"})
    reply = await model.reply([PROMPT], (), question[:_QUESTION_CHARS], variables=variables, schema=schema)
    listed = listed_in(reply, "questions")
    if listed is None:
        return read_sub_queries(text_of(reply), question)[:max_sub_queries]
    return _parts([part for part in listed if isinstance(part, str)], question)[:max_sub_queries]


def read_sub_queries(reply: str, question: str) -> list[str]:
    """The questions in a model's reply that ask for a part of `question`, without it and without repetitions.

    Two are the same when they have the same words. One that shares no content word with `question` is none of its
    parts: a refusal, a remark, or something made up.

    Raises:
        ModelError: the reply refuses, or holds nothing of the kind, not even `question` itself, or denies where
            `question` does not: that asks for something else, or is a remark on the question.
    """
    if is_refusal(reply, question):
        raise ModelError("it refused")
    parts = _parts(listed_items(reply), question)
    if any(map(negates, parts)) and not negates(question):
        raise ModelError("it denies what the question does not")
    return parts


def _parts(lines: Sequence[str], question: str) -> list[str]:
    whole, about = tuple(words(question)), set(query_stems(question))
    parts = [line for line in lines if about & set(query_stems(line))]
    if not parts:
        raise ModelError("it wrote nothing that is part of the question")
    by_words: dict[tuple[str, ...], str] = {}
    for part in parts:
        by_words.setdefault(tuple(words(part)), part)
    by_words.pop(whole, None)
    return list(by_words.values())


def decompose_question(settings: Settings, model: BaseChatModel, prompts: Prompts) -> Node[StageInput, StageUpdate]:
    """The node. What the turn searches for already is no sub-query; a model that fails leaves the plain question."""
    chain = ChainModel.of(settings, prompts, model)
    most = settings.enhanced_retrieval.max_sub_queries

    async def work(state: StageInput, _: Runtime[Context]) -> Stage:
        searched = {tuple(words(query)) for query in state["intent"]["text_queries"]}
        parts = [part for part in await divide(chain, asked(state), most) if tuple(words(part)) not in searched]
        return Stage({"sub_queries": parts}, {"sub_queries": parts})

    return model_stage("decompose_question", work, prompts, without={"sub_queries": []}, note="decomposition_failed")
