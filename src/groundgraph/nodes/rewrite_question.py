"""A question that leans on the conversation becomes one that stands on its own (C4)."""

from __future__ import annotations

from langchain_core.language_models import BaseChatModel
from langgraph.runtime import Runtime

from groundgraph.chains.answer_prompt import recent_conversation
from groundgraph.chains.chain_model import ChainModel
from groundgraph.chains.rewrite_question import needs_rewrite
from groundgraph.chains.rewrite_question import rewrite_question as rewritten
from groundgraph.core.context import Context
from groundgraph.core.settings import Settings
from groundgraph.nodes.model_stage import Stage, StageInput, StageUpdate, model_stage, skipped
from groundgraph.nodes.node import Node
from groundgraph.prompts import Prompts


def rewrite_question(settings: Settings, model: BaseChatModel, prompts: Prompts) -> Node[StageInput, StageUpdate]:
    """The node. A model that fails leaves the question as the user put it."""
    chain = ChainModel.of(settings, prompts, model)
    least = settings.enhanced_retrieval.rewrite_min_words

    async def work(state: StageInput, _: Runtime[Context]) -> Stage:
        turn = state["turn"]
        history = recent_conversation(state.get("messages", []), turn, settings.intent.max_context_turns)
        if not needs_rewrite(turn["question"], history, least):
            return skipped(f"fewer than {least} words" if history else "nothing was said before")
        question = await rewritten(chain, history, turn["question"])
        return Stage({"question": question}, {"rewritten": question})

    return model_stage("rewrite_question", work, prompts, without={}, note="rewrite_failed")
