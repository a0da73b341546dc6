"""`retrieval`: how much is retrieved, and how it is merged."""

from typing import Literal

from pydantic import Field, PositiveInt

from groundgraph.core.section import Section


class RetrievalSettings(Section):
    """How much is retrieved and how the sources' results are merged (R7, R8, R10)."""

    top_k: PositiveInt = Field(5, le=1000)
    score_threshold: float = Field(0.3, ge=0, le=1)
    merge: Literal["round_robin", "relative_score", "in_order"] = "round_robin"
    merge_adjacent: bool = Field(
        True, description="join neighbouring chunks under one heading, where the source can tell what is between them"
    )
    deduplicate: bool = True
    answerable_threshold: float | None = Field(
        0.05,
        ge=0,
        le=1,
        description="a turn whose evidence from knowledge bases answers the question with less than this probability "
        "(`support.answerable`) is `insufficient`, and no model writes; null never decides",
    )
    doubt_threshold: float = Field(
        0.15,
        ge=0,
        le=1,
        description="an answer that no model writes says that it may be none when the evidence from knowledge bases "
        "answers the question with less than this probability; 0 never says so",
    )
    scope_filters: dict[str, dict[str, str]] = Field(
        {}, description="per source and field, where the value comes from: context.NAME or user.NAME"
    )
