"""What may change from run to run, or be preset by an assistant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    field_validator,
    model_validator,
)

from groundgraph.core.errors import InputInvalid, Problem, ScopeMissing, UnknownName
from groundgraph.core.turn_values import RetrievalPath
from groundgraph.settings.answers import Style
from groundgraph.settings.section import LanguageCode
from groundgraph.settings.settings import Settings

# The state of a dialogue, as a larger graph that leads the dialogue names it.
#
# It stands in the session metadata under `dialogue_state`, or in the context of a run, which wins.

# The name in a thread's metadata, and the source that facts given word for word are cited from.
DIALOGUE_STATE = "dialogue_state"
SOURCE_TYPE = "state_facts"


class StateFact(BaseModel):
    """One fact that belongs to a state of the dialogue; `id` names it in citations."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str = Field(min_length=1, max_length=8_000)
    id: str | None = Field(default=None, max_length=200)
    title: str | None = Field(default=None, max_length=500)
    url: str | None = Field(default=None, max_length=2_000)
    category: str | None = Field(default=None, max_length=100)


class DialogueState(BaseModel):
    """Where a dialogue stands.

    Attributes:
        name: of the state, for example `presentation`.
        intent: what the user wants, by the name that `category_router.intents` knows.
        categories: their facts are taken from the sources that have categories.
        facts: texts of the caller's own, the most important first; they stand before those of the categories.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(default="", max_length=200)
    intent: str | None = Field(default=None, max_length=200)
    categories: list[str] = Field(default=[], max_length=50)
    facts: list[StateFact] = Field(default=[], max_length=200)

    @field_validator("facts", mode="before")
    @classmethod
    def _texts_are_facts(cls, given: Any) -> Any:
        return [{"text": one} if isinstance(one, str) else one for one in given] if isinstance(given, list) else given


def dialogue_state(metadata: Mapping[str, Any], chosen: Mapping[str, Any]) -> DialogueState:
    """The state that the run's choices `chosen` name, else that of the session; an empty one when nobody names any.

    Raises:
        InputInvalid: the session's metadata holds something else under that name.
    """
    given = chosen.get(DIALOGUE_STATE) or metadata.get(DIALOGUE_STATE) or {}
    try:
        return given if isinstance(given, DialogueState) else DialogueState.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, (DIALOGUE_STATE, *first["loc"])))
        raise InputInvalid(f"{place}: {first['msg']}") from error


# At which steps LangGraph Studio shows a field.
_AT_RETRIEVAL: dict[str, Any] = {"langgraph_nodes": ["retrieve_source"]}
_AT_ANSWER: dict[str, Any] = {"langgraph_nodes": ["answer_conversational", "answer_hybrid"]}


class Context(BaseModel):
    """The choices of one run. A field that is left out takes the value of the settings.

    Raises:
        InputInvalid: a choice is unknown or cannot work; names each, without its value.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    style: Style | None = Field(
        default=None, description="How the answer is written, unless the turn or the session says otherwise."
    )
    top_k: int | None = Field(
        default=None, ge=1, le=1000, description="Results per query and source.", json_schema_extra=_AT_RETRIEVAL
    )
    score_threshold: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="The lowest relevance that counts as evidence.",
        json_schema_extra=_AT_RETRIEVAL,
    )
    instruction: str | None = Field(
        default=None,
        max_length=20_000,
        description="Guidance for the model that writes the answer.",
        json_schema_extra={**_AT_ANSWER, "langgraph_type": "prompt"},
    )
    allow_parametric: bool | Literal["bridge"] | None = Field(
        default=None,
        description="Whether the answer may go beyond the evidence: false, true, or bridge.",
        json_schema_extra=_AT_ANSWER,
    )
    require_citations: bool | None = Field(
        default=None, description="Whether the model is told to cite.", json_schema_extra=_AT_ANSWER
    )
    citation_format: Literal["section", "source"] | None = Field(
        default=None, description="Whether a citation names the section or the document.", json_schema_extra=_AT_ANSWER
    )
    language: LanguageCode | None = Field(
        default=None, description="The language of groundgraph's own words; that of the question when absent."
    )
    scope: dict[str, str | int | float | bool | list[str]] | None = Field(
        default=None, description="Values for the scope filters, for example the tenant."
    )
    sources: list[str] | None = Field(
        default=None,
        min_length=1,
        description="The sources to search; all when absent.",
        json_schema_extra=_AT_RETRIEVAL,
    )
    retrieval_path: RetrievalPath | None = Field(
        default=None,
        description="How to retrieve: by the stages of enhanced_retrieval, from the facts of the dialogue's state "
        "alone, or plainly; the first of them that the configuration has when absent.",
    )
    dialogue_state: DialogueState | None = Field(
        default=None,
        description="The state of the dialogue: categories and facts; that of the session metadata when absent.",
    )

    @model_validator(mode="wrap")
    @classmethod
    def _typed(cls, given: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        # The text of a ValidationError quotes the value and an address of pydantic, and reaches clients of a server.
        try:
            return handler(given)
        except ValidationError as error:
            problems = [f"{'.'.join(map(str, item['loc'])) or 'context'}: {item['msg']}" for item in error.errors()]
        raise InputInvalid(f"The context of this run cannot be used. {'; '.join(problems)[:1000]}.")


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
    chosen, synthesis = {**recorded, **chosen_fields(context)}, settings.synthesis
    return Options(
        style=chosen.get("style") or settings.configured_style,
        top_k=chosen.get("top_k") or settings.retrieval.top_k,
        score_threshold=chosen.get("score_threshold", settings.retrieval.score_threshold),
        instruction=chosen.get("instruction", synthesis.instruction),
        allow_parametric=chosen.get("allow_parametric", synthesis.allow_parametric),
        require_citations=chosen.get("require_citations", synthesis.require_citations),
        citation_format=chosen.get("citation_format", synthesis.citation_format),
        language=chosen.get("language"),
        sources=chosen.get("sources"),
        scope=scope_in_force(recorded, context),
    )


def refuse_without_effect(settings: Settings, chosen: dict[str, Any]) -> None:
    """Refuse a way of retrieving, or a state of the dialogue, that the graph was not built for.

    Raises:
        UnknownName: `chosen` asks for one.
    """
    if "dialogue_state" in chosen and not ("backfill" in settings.stages or settings.category_router.routes):
        message = "nothing here uses it; switch on enhanced_autonomous_retrieval or category_router"
        raise UnknownName([Problem("context.dialogue_state", message)])
    path = chosen.get("retrieval_path")
    if path is not None and path not in settings.paths:
        known = ", ".join(settings.paths)
        missing = "the stage 'backfill'" if settings.stages else "enhanced_autonomous_retrieval"
        message = f"this graph has no path '{path}', which needs {missing}. Known: {known}."
        raise UnknownName([Problem("context.retrieval_path", message)])


def scope_in_force(options: dict[str, Any], context: object) -> dict[str, Any]:
    """The scope of a turn: a turn belongs to the scope that it began in, and nobody goes on with it in another.

    Args:
        options: the choices that the turn began with.
        context: of the run that goes on with it.

    Raises:
        ScopeMissing: the run is in another scope.
    """
    recorded, own = options.get("scope"), chosen_fields(context).get("scope")
    if recorded and own and recorded != own:
        raise ScopeMissing("This turn began in another scope. Ask the question anew in yours.")
    return recorded or own or {}


def chosen_fields(context: object) -> dict[str, Any]:
    """The fields of a `Context` that say something; none for the context of a parent graph, which is another's.

    What a parent adds in a subclass is its own, and may be nothing that a checkpoint can or should hold.
    """
    if not isinstance(context, Context):
        return {}
    return context.model_dump(exclude_none=True, include=set(Context.model_fields))
