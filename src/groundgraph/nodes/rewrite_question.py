"""A question that leans on the conversation becomes one that stands on its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.runtime import Runtime

from groundgraph.answers.conversation import as_said, recent_conversation
from groundgraph.answers.generate_queries import listed_items
from groundgraph.core.errors import ModelError
from groundgraph.models.call_model import ChainModel, Passage
from groundgraph.models.replies import is_refusal, reply_words
from groundgraph.nodes.node import Node, Stage, StageInput, StageUpdate, model_stage, skipped
from groundgraph.prompts import Prompts
from groundgraph.settings.context import Context
from groundgraph.settings.settings import Settings
from groundgraph.text.follow_up import question_of
from groundgraph.text.wording import marks_in, names_another
from groundgraph.text.words import fold, stems, words

# A question that leans on the conversation, rewritten by a model so that it stands on its own.

PROMPT = "rewrite_question"
# One message before the question: as it is, or its role ("user", "assistant") and text.
Said = BaseMessage | tuple[str, str]

# How much of one earlier message a model is shown.
MAX_SAID_CHARS = 2_000
# A wording that is so much longer than the question and what it leans on is an essay.
MAX_ADDED_CHARS = 500
# The share of a wording's content words that somebody must have said: less is nonsense. People who reword a question
# put up to three quarters of it in words of their own.
MIN_SAID_SHARE = 0.25
_QUESTION_CHARS = 8_000
# What ends in the first is no wording of what ends in one of the others, but an answer to it.
_STATES, _ASKS = (".", "。"), ("?", "？", "؟")
_USERS = frozenset({"user", "human"})
# Apostrophes, hyphens and points within a word, which `words` takes apart.
_JOINT = re.compile(r"(?<=[^\W_])['’ʼ\-‐‑.,](?=[^\W_])")


@cache
def _label() -> re.Pattern[str]:
    """How a model announces its wording: "The rewritten question:"."""
    return re.compile(rf"^[*_#>\s]*(?:[^\W\d_][\w-]*\s+){{0,4}}(?:{reply_words('wording')})\w*\W*:\W*", re.IGNORECASE)


def needs_rewrite(question: str, history: Sequence[Said], min_words: int) -> bool:
    """Whether `question` is to be rewritten: it has at least `min_words` words, and something was said before it.

    The rule of document 004; shorter ones stay as they are. "What's" and "follow-up" are one word each.
    """
    return any(text.strip() for _, text in map(_role_and_text, history)) and word_count(question) >= min_words


def word_count(text: str) -> int:
    """The words of `text` as a person counts them; in scripts without spaces, pairs of characters."""
    return sum(1 for _ in words(text)) - len(_JOINT.findall(text))


async def rewrite(model: ChainModel, history: Sequence[Said], question: str) -> str:
    """`question` as one that is understood without `history`, on one line and in its own language.

    Args:
        model: is shown the history as data, never as instructions.
        history: what was said before, the oldest first, as far back as it counts.
        question: the user's message.

    Raises:
        ModelError: the model failed, refused, may not be called any more, or wrote what is no wording of this question;
            the caller goes on with the plain question.
    """
    said = [_role_and_text(one) for one in history]
    passages = [Passage("User" if role in _USERS else "Assistant", text[:MAX_SAID_CHARS]) for role, text in said]
    reply = await model.text(PROMPT, passages, question[:_QUESTION_CHARS])
    return read_rewrite(reply, question, [text for _, text in said])


def read_rewrite(reply: str, question: str, history: Sequence[str]) -> str:
    """The rewritten question in a model's reply; lines around it are passed over.

    Raises:
        ModelError: it refuses, or no line of it is made of what `question` and `history` say and asks the same.
    """
    if is_refusal(reply, " ".join([question, *history])):
        raise ModelError("it refused")
    known = {stemmed for text in (question, *history) for stemmed in stems(text)}
    for line in listed_items(reply):
        wording = _label().sub("", line)
        is_short = len(wording) <= len(question) + MAX_ADDED_CHARS
        if is_short and _is_said(wording, known) and _asks_the_same(wording, question, history):
            return wording
    raise ModelError("its reply is no wording of the question")


def _is_said(wording: str, known: set[str]) -> bool:
    told = stems(wording)
    return bool(told) and sum(one in known for one in told) >= MIN_SAID_SHARE * len(told)


def _asks_the_same(wording: str, question: str, history: Sequence[str]) -> bool:
    """Whether `wording` keeps the codes and numbers of what `question` asks, has none that nobody said, and does not
    answer it."""
    if question.rstrip().endswith(_ASKS) and wording.endswith(_STATES):
        return False
    said = "\n".join([question, *history])
    # "Version 3" may become "v3".
    keeps = all(mark in fold(wording) for mark in marks_in(question_of(question)))
    return keeps and not names_another(wording, question) and not names_another(wording, said)


def _role_and_text(said: Said) -> tuple[str, str]:
    if isinstance(said, BaseMessage):
        return ("user" if isinstance(said, HumanMessage) else "assistant"), str(as_said(said).text)
    role, text = said
    return role.lower(), text


def rewrite_question(settings: Settings, model: BaseChatModel, prompts: Prompts) -> Node[StageInput, StageUpdate]:
    """The node. A model that fails leaves the question as the user put it."""
    chain = ChainModel.of(settings, prompts, model)
    least = settings.enhanced_retrieval.rewrite_min_words

    async def work(state: StageInput, _: Runtime[Context]) -> Stage:
        turn = state["turn"]
        history = recent_conversation(state.get("messages", []), turn, settings.intent.max_context_turns)
        if not needs_rewrite(turn["question"], history, least):
            return skipped(f"fewer than {least} words" if history else "nothing was said before")
        question = await rewrite(chain, history, turn["question"])
        return Stage({"question": question}, {"rewritten": question})

    return model_stage("rewrite_question", work, prompts, without={}, note="rewrite_failed")
