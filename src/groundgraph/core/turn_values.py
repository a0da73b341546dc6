"""The values in a turn's state: plain JSON-like mappings, typed here, built and checked by the nodes that own them."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict

Outcome = Literal["answered", "insufficient", "unavailable", "chat"]
SourceStatus = Literal["ok", "failed", "timed_out", "schema_changed", "skipped"]
Ref = list[Any]
"""A piece of evidence by reference: [key, relevance, score]."""


class Turn(TypedDict, total=False):
    """What identifies a turn.

    `id` derives from the message and its place in the thread, so that a replay gives the same turn. `issues` are
    sentences for the reader about the message itself. `started_at` is in seconds since the epoch and enters no prompt.
    """

    id: str
    question: str
    message_id: str
    language: str
    options: dict[str, Any]
    issues: list[str]
    started_at: float


class RetrievalTask(TypedDict):
    """One task of the fan-out: which source is asked what. `options` are those that the turn began with."""

    name: str
    source: str
    query: str
    filters: dict[str, Any]
    scope: str
    categories: list[str]
    raw_data: dict[str, Any]
    options: dict[str, Any]


class Retrieval(TypedDict, total=False):
    """What one query to one source gave.

    `found` counts results before the cap, `dropped` those left out by reason. `previews` are the beginnings of at
    most two results, for whoever looks at the state. Times are in milliseconds.
    """

    source: str
    source_type: str
    query: str
    status: SourceStatus
    error: str
    error_type: str
    refs: list[Ref]
    found: int
    dropped: dict[str, int]
    attempts: int
    previews: list[str]
    elapsed_ms: float


class Ranking(TypedDict, total=False):
    """The merged evidence: the n-th reference has the label n.

    `by_source` holds each source's results before the merge, `found_again` how often a key was found when more than
    once. `style` is the style that writes the answer, None when there is nothing to write it from.
    """

    refs: list[Ref]
    by_source: dict[str, list[Ref]]
    total: int
    found_again: dict[str, int]
    strategy: str
    style: str | None
    elapsed_ms: float


class Draft(TypedDict, total=False):
    """The answer before the citation check.

    `style` is the one that wrote it, `asked_style` the one that was asked for. `finish` is `stop`, `length`, `error` or
    `refusal`. `labels` are those in the text, in the order of first use, `removed` those that referred to nothing.
    `notes` are sentences for the reader. `written` is how many characters of the text a model wrote,
    `calls` the calls that it took.
    """

    text: str
    style: str
    asked_style: str
    outcome: Outcome
    finish: str
    labels: list[int]
    removed: list[int]
    notes: list[str]
    written: int
    body: int
    calls: list[ModelCall]
    elapsed_ms: float


class Flag(TypedDict):
    """One finding of the citation check."""

    kind: str
    sentence: str
    detail: str


class Citation(TypedDict):
    """What one label refers to. `start` and `end` are offsets of `quote` in the original, where there is one."""

    label: int
    source_name: str
    source_id: str
    section: str | None
    title: str | None
    url: str | None
    quote: str
    start: int | None
    end: int | None


class Support(TypedDict):
    """What the citation check found.

    `score` is the share of the cited sentences' words that their evidence holds; `answerable` the share of the
    question's words that the best piece of evidence holds. Both are lexical, 0 to 1, and say nothing about negation
    or swapped roles.
    """

    score: float
    answerable: float
    flags: list[Flag]


class Check(TypedDict):
    """The result of the citation check, as the state holds it: citations are found again from the labels."""

    labels: list[int]
    score: float
    answerable: float
    flags: list[Flag]
    elapsed_ms: float


class ModelCall(TypedDict, total=False):
    """One call of a model: `role` is `queries` or `answer`, times are in milliseconds, tokens as the provider reports
    them."""

    role: str
    model: str
    input_tokens: int
    output_tokens: int
    estimated: bool
    attempts: int
    elapsed_ms: float
    error: str
