"""`intent`: how the intent of a turn is found."""

from typing import Any, Literal

from pydantic import Field, NonNegativeInt

from groundgraph.core.extraction_annotation import ExtractionAnnotation
from groundgraph.core.model_settings import ModelSettings
from groundgraph.core.section import Section

Scope = Literal["focused", "broad", "exact"]
Filters = dict[str, dict[str, Any]]


class IntentSettings(Section):
    """How the intent of a turn is found (features I1 to I8)."""

    mode: Literal["extract", "static", "template"] = "extract"
    num_queries: int = Field(3, ge=1, le=10)
    domain_context: str = ""
    use_conversation_context: bool = True
    max_context_turns: NonNegativeInt = 3
    extraction_config: ModelSettings | None = Field(
        None, description="a model that fills in queries, scope, style and filters by a schema"
    )
    output_style_hint: str | None = Field(None, description="what that model is told about the style of an answer")
    x_extraction: dict[Literal["scope", "output_style"], ExtractionAnnotation] = Field(
        {}, description="how much of the user's own words a choice of that model needs"
    )
    expand_ambiguous_queries: bool = Field(
        False, description="put keywords of the conversation before a message that leans on it"
    )
    include_assistant_context: bool = Field(False, description="look for them in the assistant's messages too")
    text_queries: list[str] = Field([])
    filters: Filters = Field({})
    scope: Scope = "focused"
    include_message_as_query: bool = True
    template: str | None = None
    default_filters: Filters = Field({})
    parts: bool = Field(
        True, description="without a query model, ask the sentences and clauses of a long message that ask beside it"
    )
    follow_ups: bool = Field(
        True, description="without a query model, ask a question that leans on the one before it together with that"
    )
