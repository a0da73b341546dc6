"""Another look before a turn ends without an answer: the question in other words, or without what narrowed it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from langchain_core.language_models import BaseChatModel
from langgraph.runtime import Runtime

from groundgraph.answers.generate_queries import MAX_QUERY_CHARS, listed_items
from groundgraph.answers.provenance import absence_outcome
from groundgraph.core.errors import ModelError
from groundgraph.core.turn_values import Ranking, Retrieval
from groundgraph.models.call_model import ChainModel, Passage
from groundgraph.models.replies import is_refusal, list_schema, listed_in, text_of
from groundgraph.nodes.node import Node, Stage, StageInput, StageUpdate, asked, model_stage, skipped
from groundgraph.prompts import Prompts
from groundgraph.settings.context import Context
from groundgraph.settings.settings import Settings
from groundgraph.text.follow_up import question_of
from groundgraph.text.wording import marks_in
from groundgraph.text.words import words

STEP = "second_look"


class SecondLookInput(StageInput, total=False):
    """What decides whether there is a second look."""

    retrievals: dict[str, Retrieval]
    ranking: Ranking


def second_look(
    settings: Settings, model: BaseChatModel | None, prompts: Prompts
) -> Node[SecondLookInput, StageUpdate]:
    """The node. With a model it finds another wording; without one the categories that were chosen fall away. A model
    that fails leaves the turn as it was."""
    chain = ChainModel.of(settings, prompts, model) if model is not None else None

    async def work(state: StageInput, _: Runtime[Context]) -> Stage:
        intent = state["intent"]
        if chain is not None:
            wording = await reword(chain, asked(state), intent["text_queries"])
            return Stage({"by": "model", "question": wording})
        if not intent["categories"]:
            return skipped("nothing narrowed the search")
        return Stage({"by": "rule", "question": asked(state)}, {"categories": []})

    return model_stage(STEP, work, prompts, without={}, note="second_look_failed")


async def reword(model: ChainModel, question: str, searched: list[str]) -> str:
    """`question` in words that are none of what was `searched` for, with its codes and numbers.

    Raises:
        ModelError: the model failed, refused, may not be called any more, or has no other words.
    """
    passage = Passage("searched", "\n".join(searched))
    schema = list_schema("queries", {"type": "string"})
    reply = await model.reply([STEP], [passage], question[:MAX_QUERY_CHARS], schema=schema)
    listed = listed_in(reply, "queries")
    if listed is None and is_refusal(text_of(reply), question):
        raise ModelError("it refused")
    known = {tuple(words(query)) for query in (question, *searched)}
    marks = marks_in(question_of(question))
    for line in map(str, listed if listed is not None else listed_items(text_of(reply))):
        if (said := tuple(words(line))) and said not in known and marks <= marks_in(line):
            return line[:MAX_QUERY_CHARS]
    raise ModelError("it has no other words")


def looks_again(choose: Callable[[SecondLookInput], Awaitable[str]]) -> Callable[[SecondLookInput], Awaitable[str]]:
    """`choose`, but `STEP` once for a turn whose sources answered and gave nothing that does."""

    async def decided(state: SecondLookInput) -> str:
        ranking = state["ranking"]
        lacking = (ranking["insufficient"] or ranking["style"] is None) and not ranking["needs"]
        covered = absence_outcome(state["retrievals"].values()) != "insufficient"
        first = STEP not in state["intent"]["stages"] and state["turn"]["small_talk"] is None
        return STEP if lacking and first and not covered else await choose(state)

    return decided
