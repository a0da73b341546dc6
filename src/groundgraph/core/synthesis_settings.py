"""`synthesis`: how the answer is written."""

from typing import Literal

from pydantic import Field

from groundgraph.core.section import Section

Style = Literal["conversational", "structured", "hybrid"]


class SynthesisSettings(Section):
    """How the answer is written (S1 to S6)."""

    mode: Literal["llm", "template"] | None = None
    style: Style | None = None
    require_citations: bool = True
    allow_parametric: bool | Literal["bridge"] = False
    citation_format: Literal["section", "source"] = "section"
    template: str | None = None
    provenance_template: str | None = None
    instruction: str | None = None
    evidence_per_source: bool = Field(
        False, description="show a model the evidence of each source as a message of its own"
    )
