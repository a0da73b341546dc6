"""What may change from run to run, or be preset by an assistant."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from groundgraph.core.errors import ScopeMissing
from groundgraph.core.settings import Settings, Style


class Context(BaseModel):
    """The choices of one run. A field that is left out takes the value of the settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    style: Style | None = Field(
        None, description="How the answer is written, unless the turn or the session says otherwise."
    )
    top_k: int | None = Field(None, ge=1, le=1000, description="Results per query and source.")
    score_threshold: float | None = Field(None, ge=0, le=1, description="The lowest relevance that counts as evidence.")
    instruction: str | None = Field(
        None,
        max_length=20_000,
        description="Guidance for the model that writes the answer.",
        json_schema_extra={"langgraph_nodes": ["answer_conversational", "answer_hybrid"], "langgraph_type": "prompt"},
    )
    allow_parametric: bool | Literal["bridge"] | None = Field(
        None, description="Whether the answer may go beyond the evidence: false, true, or bridge."
    )
    require_citations: bool | None = Field(None, description="Whether the model is told to cite.")
    citation_format: Literal["section", "source"] | None = Field(
        None, description="Whether a citation names the section or the document."
    )
    language: Literal["en", "ru"] | None = Field(
        None, description="The language of groundgraph's own words; that of the question when absent."
    )
    scope: dict[str, str | int | float | bool | list[str]] | None = Field(
        None, description="Values for the scope filters, for example the tenant."
    )
    sources: list[str] | None = Field(None, min_length=1, description="The sources to search; all when absent.")


@dataclass(frozen=True)
class Options:
    """The choices in force in one turn: those of the run over those of the settings."""

    style: str
    top_k: int
    score_threshold: float
    instruction: str | None
    allow_parametric: bool | Literal["bridge"]
    require_citations: bool
    citation_format: Literal["section", "source"]
    language: str | None
    sources: list[str] | None
    scope: dict[str, Any] = field(default_factory=dict)


def options_in_force(settings: Settings, recorded: dict[str, Any], context: Context | None) -> Options:
    """The choices in force.

    Args:
        settings: what the graph was built with.
        recorded: the choices that the turn began with, from its state; a resumed turn is run without a context.
        context: the context of this run, whose choices win over the recorded ones.
    """
    chosen = {**recorded, **chosen_fields(context)}
    return Options(
        style=chosen.get("style") or settings.configured_style,
        top_k=chosen.get("top_k") or settings.retrieval.top_k,
        score_threshold=chosen.get("score_threshold", settings.retrieval.score_threshold),
        instruction=chosen.get("instruction", settings.synthesis.instruction),
        allow_parametric=chosen.get("allow_parametric", settings.synthesis.allow_parametric),
        require_citations=chosen.get("require_citations", settings.synthesis.require_citations),
        citation_format=chosen.get("citation_format", settings.synthesis.citation_format),
        language=chosen.get("language"),
        sources=chosen.get("sources"),
        scope=_scope(recorded.get("scope"), chosen_fields(context).get("scope")),
    )


def _scope(recorded: dict[str, Any] | None, own: dict[str, Any] | None) -> dict[str, Any]:
    """The scope of a turn: a turn belongs to the scope that it began in, and nobody goes on with it in another."""
    if recorded and own and recorded != own:
        raise ScopeMissing("This turn began in another scope. Ask the question anew in yours.")
    return recorded or own or {}


def chosen_fields(context: object) -> dict[str, Any]:
    """The fields of a `Context` that say something; none for the context of a parent graph, which is another's."""
    return context.model_dump(exclude_none=True) if isinstance(context, Context) else {}
