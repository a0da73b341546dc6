"""Telling that a source answered without a part of itself, so that an outage does not look like ignorance.

A source whose embedding model or reranker fails goes on without it and calls `degraded`; whoever asked collects what
was told, across the tasks that it started.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NotRequired

from typing_extensions import TypedDict

from groundgraph.core.failure import Failure, tell_failure

_LOG = logging.getLogger("groundgraph")


class Degradation(TypedDict):
    """`part` is `vectors`, `transformer`, `reranker`, `filter`, of a topic index `topic_index`, `topic_options` or
    `heading_choice`, or of a cascade `categories` or `files`; `reason` says why the source went on without it.

    With `failure` an exception is the reason, and readers are told its class in place of its text.
    """

    part: str
    reason: str
    failure: NotRequired[Failure]


# Parts without which a source searched more, and not less, than it was asked to.
NOTHING_LACKING = frozenset({"categories"})

_collected: ContextVar[list[Degradation] | None] = ContextVar("groundgraph_degraded", default=None)


@contextmanager
def collect_degradations() -> Iterator[list[Degradation]]:
    """What `degraded` is told inside, each once."""
    found: list[Degradation] = []
    token = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(token)


def degraded_by(source: str, part: str, error: BaseException) -> str:
    """Tell that `source` went on without `part`, which raised `error`; returns the reason for a record."""
    told = tell_failure(error, "step", f"{part} of {source}")
    degraded(source, part, told.text, told.failure)
    return told.text


def degraded(source: str, part: str, reason: str, failure: Failure | None = None) -> None:
    """Tell that `source` went on without `part`; it is logged where nobody collects it."""
    found = _collected.get()
    told: Degradation = {"part": part, "reason": reason}
    if failure is not None:
        told["failure"] = failure
    if found is None:
        _LOG.warning("The source '%s' went on without its %s: %s", source, part, reason)
    elif told not in found:
        found.append(told)
