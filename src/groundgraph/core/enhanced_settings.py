"""Retrieval that adapts to the question: its stages, bounds and the choice of categories (C3 to C8, document 004)."""

from typing import Literal

from pydantic import Field, PositiveInt, field_validator

from groundgraph.core.result_settings import ResultProcessingSettings
from groundgraph.core.section import Section

Stage = Literal["rewrite", "complexity", "decomposition", "fusion", "budget", "rotation", "reorder", "backfill"]
# In the order in which they run. Routing to categories is a section of its own, and has its own switch.
STAGES: tuple[Stage, ...] = (
    "rewrite",
    "complexity",
    "decomposition",
    "fusion",
    "budget",
    "rotation",
    "reorder",
    "backfill",
)
# The stages that a chat model works in.
MODEL_STAGES: frozenset[Stage] = frozenset({"rewrite", "decomposition"})


class EnhancedRetrievalSettings(Section):
    """What the stages of `enhanced_autonomous_retrieval` do; without that flag nothing here is used."""

    stages: list[Stage] | None = Field(None, description="the stages that run; all of them when absent")
    max_kb_chars: PositiveInt = Field(40_000, description="budget: characters of evidence and state facts together")
    max_kb_tokens: PositiveInt | None = Field(
        None, description="budget: tokens; 40 000 characters are about 10 000 in English and 20 000 in Russian"
    )
    top_k_per_sub_query: PositiveInt = Field(3, le=1000, description="results of one sub-query from one source")
    max_sub_queries: int = Field(4, ge=1, le=10, description="parts into which a question is divided at most")
    rrf_k: PositiveInt = Field(60, description="fusion: the constant of the rank fusion of question and sub-queries")
    rewrite_min_words: PositiveInt = Field(4, description="rewrite: shorter questions are left as they are")
    min_complexity_length: PositiveInt = Field(
        30, description="complexity: characters of the shortest complex question"
    )

    @field_validator("stages")
    @classmethod
    def _each_once(cls, stages: list[Stage] | None) -> list[Stage] | None:
        return None if stages is None else [stage for stage in STAGES if stage in stages]

    @property
    def chosen(self) -> frozenset[Stage]:
        """The stages that run when the flag is on."""
        return frozenset(STAGES if self.stages is None else self.stages)


class CategoryRouterSettings(Section):
    """Which categories of a knowledge base a question is searched in (C3)."""

    enabled: bool = Field(False, description="a model chooses, where the dialogue's intent does not decide")
    top_k: PositiveInt = Field(3, le=100, description="categories that a model may choose")
    intents: dict[str, list[str]] = Field(
        {}, description="the categories of an intent that the dialogue names; they are searched without asking a model"
    )
    fallback_categories: list[str] = Field(
        ["faq", "features"],
        description="those of an intent that `intents` does not know, where no model chooses; all when none of them "
        "exists",
    )

    @property
    def routes(self) -> bool:
        """Whether anything decides about categories."""
        return self.enabled or bool(self.intents)


def enhanced_processing(
    plain: ResultProcessingSettings, own: EnhancedRetrievalSettings, stages: frozenset[Stage]
) -> ResultProcessingSettings:
    """`plain` with what `stages` add to it; of two budgets the smaller one holds."""
    added: dict[str, object] = {}
    if "fusion" in stages:
        added["rrf_k"] = own.rrf_k
    if "budget" in stages:
        added["max_kb_chars"] = _smaller(plain.max_kb_chars, own.max_kb_chars)
        added["max_kb_tokens"] = _smaller(plain.max_kb_tokens, own.max_kb_tokens)
    if "rotation" in stages:
        added["rotation"] = plain.rotation or "demote"
    if "reorder" in stages:
        added["reorder"] = "zigzag"
    return plain.model_copy(update=added)


def _smaller(one: int | None, other: int | None) -> int | None:
    return min((limit for limit in (one, other) if limit is not None), default=None)
