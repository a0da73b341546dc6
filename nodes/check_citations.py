"""Whether every label of the answer refers to evidence, and how much of the answer stands in it; without a model."""

from __future__ import annotations

import time

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from groundgraph.chains.citations import (
    answerable,
    has_claims,
    label_flags,
    lexical_support,
)
from groundgraph.core.context import Context, options_in_force
from groundgraph.core.evidence import EvidenceRecord
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.settings import Settings
from groundgraph.core.turn_values import Check, Draft, Flag, Ranking, Turn
from groundgraph.nodes.node import Node


class CheckCitationsInput(TypedDict, total=False):
    """What the step reads."""

    turn: Turn
    ranking: Ranking
    bodies: dict[str, EvidenceRecord]
    draft: Draft


class CheckCitationsUpdate(TypedDict):
    """What the step writes; it adds flags and never changes the text, which may have been streamed."""

    check: Check


def check_citations(settings: Settings, evidence: EvidenceStore) -> Node[CheckCitationsInput, CheckCitationsUpdate]:
    """The node; see `CheckCitationsUpdate`."""

    async def check_citations(state: CheckCitationsInput, runtime: Runtime[Context]) -> CheckCitationsUpdate:
        started = time.perf_counter()
        draft, turn = state["draft"], state["turn"]
        results = await evidence.results(runtime.store, state["ranking"]["refs"], state.get("bodies"))
        by_label = dict(enumerate(results, 1))
        options = options_in_force(settings, turn["options"], runtime.context)
        written = draft["text"][: draft.get("written", 0)]
        labels = [label for label in draft.get("labels", []) if label in by_label]
        flags = label_flags(draft.get("removed", [])) + _finish_flags(draft)
        uncited = results and not labels and has_claims(written)
        if options.require_citations and draft["finish"] == "stop" and uncited:
            flags.append({"kind": "no_citation", "sentence": "", "detail": "the answer cites no evidence"})
        # What no model wrote stands in the evidence word for word.
        score = lexical_support(written, by_label) if written else float(bool(labels))
        check: Check = {
            "labels": labels,
            "score": round(score, 4),
            "answerable": round(answerable(turn["question"], results), 4),
            "flags": flags,
            "elapsed_ms": round((time.perf_counter() - started) * 1000, 3),
        }
        runtime.stream_writer({"stage": "check_citations", **check})
        return {
            "check": check,
        }

    return check_citations


def _finish_flags(draft: Draft) -> list[Flag]:
    kinds = {
        "length": ("truncated", "the model reached its length limit"),
        "error": ("incomplete", "the model failed before the answer was complete"),
        "refusal": ("refusal", "the model declined to answer"),
    }
    if draft["finish"] not in kinds:
        return []
    kind, detail = kinds[draft["finish"]]
    return [{"kind": kind, "sentence": "", "detail": detail}]
