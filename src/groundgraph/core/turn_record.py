"""What a reader of a turn is told: its record, a piece of evidence in it, and the events of its stream.

Plain mappings, typed for whoever writes a program around a turn: nothing here is built by calling these types.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, Required

from typing_extensions import TypedDict

from groundgraph.core.turn_values import (
    Choice,
    Chosen,
    Citation,
    ClusterValue,
    Flag,
    FoundQuote,
    ModelCall,
    Outcome,
    Review,
    SourceStatus,
    StateValue,
)


class Evidence(TypedDict):
    """A piece of evidence, spelled out.

    `relevance` is 0 to 1; `text_preview` is the beginning of `text` on one line. `label` is its number in the answer,
    or behind those that the answer uses; it is there in a turn's `results`. `score` is the number by which the source
    ordered its results, on a scale of its own.
    """

    source_id: str
    source_name: str
    source_type: str
    relevance: float
    text: str
    text_preview: str
    metadata: dict[str, Any]
    label: NotRequired[int]
    score: NotRequired[float]


class Degraded(TypedDict):
    """A part that a source had to do without, and why; `error_type` where an exception is the reason."""

    part: str
    reason: str
    error_type: NotRequired[str]


class SourceReport(TypedDict):
    """What one source did in a turn: its worst status, its queries, how many results it found, how many were kept, and
    by reason how many were dropped. `elapsed_ms` is that of its slowest query. `error` and `error_type` are there when
    it failed, `degraded` when it had to do without a part of itself."""

    status: SourceStatus
    queries: list[str]
    found: int
    kept: int
    dropped: dict[str, int]
    elapsed_ms: float
    attempts: int
    error: NotRequired[str]
    error_type: NotRequired[str]
    degraded: NotRequired[list[Degraded]]


class StepReport(TypedDict):
    """One step of a turn and its time in milliseconds; a work on the results also tells how many came in and went out,
    and by reason the keys of those that it left out."""

    step: str
    elapsed_ms: float
    came_in: NotRequired[int]
    went_out: NotRequired[int]
    left_out: NotRequired[dict[str, list[str]]]


class StyleReport(TypedDict):
    """How an answer was to be written, and how it was."""

    asked: str | None
    used: str


class IntentReport(TypedDict):
    """What was searched for. A turn that searched for nothing, such as small talk, has an empty mapping in its place.
    The keys behind `issues` are there where a stage set them."""

    mode: str
    text_queries: list[str]
    filters: dict[str, dict[str, Any]]
    scope: str
    output_style: str | None
    categories: list[str]
    raw_data: dict[str, Any]
    issues: list[str]
    dropped: NotRequired[list[Any]]
    rewritten: NotRequired[str]
    complex: NotRequired[bool]
    sub_queries: NotRequired[list[str]]
    stages: NotRequired[dict[str, Any]]


class CheckReport(TypedDict, total=False):
    """What the citation check found; empty where nothing was checked. `order` holds for each label of the answer the
    place, from 1, of its piece of evidence in `results`."""

    labels: list[int]
    order: list[int]
    quotes: list[FoundQuote]
    score: float
    answerable: float
    flags: list[Flag]


class OtherRecord(TypedDict, total=False):
    """Another way in which a turn went."""

    turn_id: Required[str]
    forked_from: str
    outcome: Outcome
    started_at: float


class TurnRecord(TypedDict):
    """The whole record of a turn, JSON-serialisable.

    `results` are in the order of the ranking, `results_by_source` before the merge. `total_results` counts before
    deduplication, `deduplicated_to` after it. `written` is how many characters of the answer a model wrote. Times are
    in milliseconds; `started_at` is in seconds since the epoch. `path` and `state` are there where retrieval has
    several paths, `choices` where the turn asks back and `chosen` where its message chose, `review` where a person
    decided, `edited` where somebody edited its state, `forked_from` and `other_records` where the turn went more than
    one way (see `load_provenance`).
    """

    turn_id: str
    thread_id: str | None
    question: str
    language: str
    outcome: Outcome
    answer: str
    style: StyleReport
    finish: Literal["stop", "length", "error", "refusal", "withheld"]
    written: int
    intent: IntentReport
    sources: dict[str, SourceReport]
    results_by_source: dict[str, list[Evidence]]
    results: list[Evidence]
    total_results: int
    deduplicated_to: int
    found_again: dict[str, int]
    strategies: dict[str, Any]
    answerable: float
    clusters: list[ClusterValue]
    models: list[ModelCall]
    citation_check: CheckReport
    repaired: bool
    notes: list[str]
    retrieval_time_ms: float
    intent_resolution_time_ms: float
    steps: list[StepReport]
    timings_ms: dict[str, float]
    started_at: float
    citations: list[Citation]
    path: NotRequired[str]
    state: NotRequired[StateValue]
    choices: NotRequired[list[Choice]]
    chosen: NotRequired[Chosen]
    review: NotRequired[Review]
    forked_from: NotRequired[str]
    edited: NotRequired[dict[str, Any]]
    other_records: NotRequired[list[OtherRecord]]


class TurnEvent(TypedDict, total=False):
    """One item of `stream_mode="custom"`: `stage` names the step or work that tells it, the others are as far as they
    apply. A step of your own, and a stage before the search, may tell more.

    `results` counts what a work gave out, `kept` what a source brought, of which `previews` tells the first in a line
    each: id, section and how it begins.
    `characters` is the length of the answer, `flags` and the two scores are those of the citation check; where a person
    reviews answers, one that is not given out yet has flags without sentences, and no `quotes`.
    """

    stage: Required[str]
    text_queries: list[str]
    source: str
    query: str
    status: str
    error: str
    previews: list[str]
    kept: int
    results: int
    finish: str
    characters: int
    labels: list[int]
    order: list[int]
    quotes: list[FoundQuote]
    verdict: str
    score: float
    answerable: float
    flags: list[Flag]
    turn_id: str
    outcome: Outcome
    elapsed_ms: float | None
