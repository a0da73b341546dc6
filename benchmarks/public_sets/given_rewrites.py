"""A chat model that rewrites a question as a person did, so that the graph around a rewrite can be measured (L14)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.language_models import SimpleChatModel
from langchain_core.messages import BaseMessage

from groundgraph.core.errors import ModelError
from groundgraph.evals.dataset import Dataset
from groundgraph.settings.settings import Settings


class GivenRewrites(SimpleChatModel):
    """Replies with what `rewrites` holds for the last line of a prompt, which is the question."""

    rewrites: Mapping[str, str]

    @property
    def _llm_type(self) -> str:
        return "groundgraph-given-rewrites"

    def _call(self, messages: list[BaseMessage], *_: Any, **__: Any) -> str:
        question = str(messages[-1].text).splitlines()[-1]
        if question not in self.rewrites:
            raise ModelError(f"nobody rewrote '{question[:80]}'")
        return self.rewrites[question]


def given_rewrites(asked: Dataset, rewritten: Dataset) -> GivenRewrites:
    """The model that turns each question of `asked` into the question of `rewritten` with the same id."""
    wording = {query.id: query.question for query in rewritten.queries}
    return GivenRewrites(rewrites={query.question: wording[query.id] for query in asked.queries if query.id in wording})


def with_rewriting(settings: Settings, min_words: int) -> Settings:
    """`settings` whose only query is the question, rewritten from `min_words` words on."""
    own = settings.enhanced_retrieval.model_copy(update={"stages": ["rewrite"], "rewrite_min_words": min_words})
    return settings.model_copy(
        update={
            "enhanced_autonomous_retrieval": True,
            "enhanced_retrieval": own,
            "intent": settings.intent.model_copy(update={"mode": "static", "include_message_as_query": True}),
        }
    )
