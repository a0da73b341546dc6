"""What a turn searches for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from typing_extensions import TypedDict

from groundgraph.core.characters import refuse_lone_text
from groundgraph.core.turn_values import Choice, ModelCall, empty

SCOPES = ("focused", "broad", "exact")
STYLES = ("conversational", "structured", "hybrid")


@dataclass(frozen=True)
class RetrievalIntent:
    """What to search for, in terms that every source understands.

    Attributes:
        text_queries: search phrases, the most important first.
        filters: conditions by source name, then by field. A condition is a scalar (equal), a list (any of)
            or a mapping with `gte`, `gt`, `lte`, `lt`, `contains`, `not`. Dates are ISO 8601 strings.
        scope: how broadly to search: `focused`, `broad` or `exact`.
        output_style: the synthesis style that this turn asked for, if it did.
        categories: names of categories that the question belongs to, if that was determined.
        raw_data: whatever the intent was made from, kept for the provenance record.
        message: where `text_queries` stand behind what was said before, the present message, with which they end; an
            empty text where what stands before it was no question of the user's. None where they stand by themselves.
        earlier: the questions that `message` leans on, from the one that leans on none, where they are several.
        cited: the ids of what the answer before it cites of the source, where `message` points back with a word such as
            "it", or says nothing by itself.

    Raises:
        InputInvalid: `text_queries` is one text.
    """

    text_queries: list[str]
    filters: dict[str, dict[str, Any]] = field(default_factory=dict)
    scope: str = "focused"
    output_style: str | None = None
    categories: list[str] = field(default_factory=list)
    raw_data: dict[str, Any] = field(default_factory=dict)
    message: str | None = None
    earlier: list[str] = field(default_factory=list)
    cited: list[str] = field(default_factory=list)

    # Written elsewhere: here it would be one more file that each turn passes.
    __post_init__ = refuse_lone_text("text_queries")  # type: ignore[misc]


class Dropped(TypedDict):
    """A value that a model proposed and that was left out.

    `kind` is `undeclared` when nobody declares the field, `held` when a default or scope filter has it, `value` when
    the field cannot have it, `unsaid` when the user's words do not support it. `value` is shortened.
    """

    field: str
    value: str
    kind: str
    reason: str


class StageReport(TypedDict, total=False):
    """What a stage of autonomous retrieval did before anything was searched.

    `status` is `ran`, `skipped` or `failed`, with `reason` for the last two. `question`, `categories`, `signs` and
    `sub_queries` are what the stage of rewriting (or of the second look), routing, complexity and decomposition gave,
    `choices` what the stage behind the ranking asks back for, with the `places` of their passages there, from 1.
    """

    status: Literal["ran", "skipped", "failed"]
    reason: str
    question: str
    by: str
    categories: list[str]
    signs: list[str]
    complex: bool
    sub_queries: list[str]
    choices: list[Choice]
    places: list[int]
    elapsed_ms: float


class IntentState(TypedDict):
    """A `RetrievalIntent` as the state of a turn holds it, with the mode that produced it.

    `mode` is `static`, `template`, `extract`, or `message` when the user's message is the only query.
    `sources` are the sources to ask. `issues` are sentences about what could not be done as asked, for a reader,
    `dropped` what of a model's extraction was not believed (None: there was none), `calls` the model calls that it
    took; the time is in milliseconds.

    Stages of autonomous retrieval add `rewritten`, the question as one that stands on its own; `complex`, whether it is
    made of several (None: nothing judged it); `sub_queries`, its parts; and what each stage did in `stages`, by the
    name of its step.
    """

    mode: str
    text_queries: list[str]
    filters: dict[str, dict[str, Any]]
    scope: str
    output_style: str | None
    categories: list[str]
    raw_data: dict[str, Any]
    sources: list[str]
    issues: list[str]
    dropped: list[Dropped] | None
    calls: list[ModelCall]
    rewritten: str
    complex: bool | None
    sub_queries: list[str]
    stages: dict[str, StageReport]
    elapsed_ms: float | None


EMPTY_INTENT = empty(IntentState)


class StageFindings(TypedDict, total=False):
    """What a stage adds to the intent."""

    rewritten: str
    categories: list[str]
    sub_queries: list[str]
    issues: list[str]
