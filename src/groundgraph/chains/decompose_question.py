"""A question that is made of several, divided by a model into those (C6)."""

from __future__ import annotations

from groundgraph.chains.chain_model import ChainModel
from groundgraph.chains.listed_items import listed_items
from groundgraph.chains.negation import negates
from groundgraph.chains.refusals import is_refusal
from groundgraph.core.errors import ModelError
from groundgraph.core.text import query_stems, words

PROMPT = "decompose_question"
_QUESTION_CHARS = 8_000


async def decompose_question(model: ChainModel, question: str, max_sub_queries: int) -> list[str]:
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
    reply = await model.reply([PROMPT], (), question[:_QUESTION_CHARS], variables={"max_sub_queries": max_sub_queries})
    return read_sub_queries(reply.text, question)[:max_sub_queries]


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
    whole, about = tuple(words(question)), set(query_stems(question))
    parts = [line for line in listed_items(reply) if about & set(query_stems(line))]
    if not parts:
        raise ModelError("it wrote nothing that is part of the question")
    if any(map(negates, parts)) and not negates(question):
        raise ModelError("it denies what the question does not")
    by_words: dict[tuple[str, ...], str] = {}
    for part in parts:
        by_words.setdefault(tuple(words(part)), part)
    by_words.pop(whole, None)
    return list(by_words.values())
