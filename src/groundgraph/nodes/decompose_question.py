"""A question that is made of several is divided into those, which are searched for beside it (C6)."""

from __future__ import annotations

from langchain_core.language_models import BaseChatModel
from langgraph.runtime import Runtime

from groundgraph.chains.chain_model import ChainModel
from groundgraph.chains.decompose_question import decompose_question as decomposed
from groundgraph.core.context import Context
from groundgraph.core.settings import Settings
from groundgraph.core.text import words
from groundgraph.nodes.model_stage import Stage, StageInput, StageUpdate, asked, model_stage
from groundgraph.nodes.node import Node
from groundgraph.prompts import Prompts


def decompose_question(settings: Settings, model: BaseChatModel, prompts: Prompts) -> Node[StageInput, StageUpdate]:
    """The node. What the turn searches for already is no sub-query; a model that fails leaves the plain question."""
    chain = ChainModel.of(settings, prompts, model)
    most = settings.enhanced_retrieval.max_sub_queries

    async def work(state: StageInput, _: Runtime[Context]) -> Stage:
        searched = {tuple(words(query)) for query in state["intent"]["text_queries"]}
        parts = [part for part in await decomposed(chain, asked(state), most) if tuple(words(part)) not in searched]
        return Stage({"sub_queries": parts}, {"sub_queries": parts})

    return model_stage("decompose_question", work, prompts, without={"sub_queries": []}, note="decomposition_failed")
