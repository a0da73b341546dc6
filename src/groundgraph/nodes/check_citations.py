"""Whether the answer agrees with its evidence: labels, quotations, numbers, names, words; without a model."""

from __future__ import annotations

import time
import zlib
from collections.abc import Sequence
from typing import Any

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from groundgraph.answers.check_answer import check_answer, verdict_of
from groundgraph.answers.claims import CheckedAnswer
from groundgraph.core.evidence import EvidenceRecord, SourceResult
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.turn_values import EMPTY_CHECK, Check, Draft, Flag, Ranking, Turn, Verdict
from groundgraph.nodes.node import Node, evidence_scope
from groundgraph.resilience.blocking import run_blocking
from groundgraph.settings.context import Context, Options, options_in_force
from groundgraph.settings.settings import Settings
from groundgraph.text.words import LANGUAGES, language_data

# Whether a text says the same over and over, as a small model does that has lost its way.

# So many characters in a row that compress to this share of their bytes: prose takes about a half, a table with wide
# columns a fifth, a sentence that is written again and again a twentieth, one character a fiftieth.
STRETCH = 1000
MOST_SHARE = 0.1


def repeated(text: str) -> int | None:
    """Where the first stretch of `text` begins that says nothing but the same again; None without one."""
    for start in range(0, len(text) - STRETCH + 1, STRETCH // 2):
        part = text[start : start + STRETCH].encode("utf-8", "replace")
        if len(zlib.compress(part, 1)) <= MOST_SHARE * len(part):
            return start
    return None


# How a sentence begins that the model marks as not taken from the evidence, as its prompt tells it to.
GENERAL_KNOWLEDGE = tuple(mark for language in LANGUAGES for mark in language_data(language, "replies", "general"))


# More characters of answer and evidence are compared beside the event loop.
LONG_TEXTS = 4000


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
    """The node; see `CheckCitationsUpdate`. What a template wrote from the evidence stands there and is not checked."""

    async def check_citations(state: CheckCitationsInput, runtime: Runtime[Context]) -> CheckCitationsUpdate:
        started = time.perf_counter()
        draft, turn = state["draft"], state["turn"]
        written, refs = draft["text"][: draft["written"]], state["ranking"]["refs"]
        scope = evidence_scope(settings, runtime, turn["options"])
        # What no model wrote is not compared with the evidence.
        results = await evidence.results(runtime.store, refs, state.get("bodies"), scope=scope) if written else []
        options = options_in_force(settings, turn["options"], runtime.context)
        order = [place for place in draft["order"] if place <= len(refs)]
        answer = CheckedAnswer(
            written=written,
            question=turn["question"],
            evidence=_by_label(results, order) if written else {},
            cited=len(order),
            general=GENERAL_KNOWLEDGE if options.allow_parametric is True else (),
        )
        check = await _checked(answer, draft, settings, options)
        check |= {
            "labels": _cited(draft, order),
            "order": order,
            "answerable": state["ranking"]["answerable"],
            "elapsed_ms": round((time.perf_counter() - started) * 1000, 3),
        }
        runtime.stream_writer({"stage": "check_citations", **check})
        if settings.holds_answers and check["verdict"] == "pass":
            runtime.stream_writer({"stage": "answer_released"})
        return {"check": check}

    return check_citations


def _cited(draft: Draft, order: Sequence[int]) -> list[int]:
    """The labels that have citations: without a model only those of what is quoted."""
    if draft["quotes"] is not None:
        return list(dict.fromkeys(quote["label"] for quote in draft["quotes"]))
    return list(range(1, len(order) + 1))


def _by_label(results: Sequence[SourceResult], order: Sequence[int]) -> dict[int, SourceResult]:
    """The evidence by label: that which the text uses, then the rest."""
    places = dict.fromkeys([*order, *range(1, len(results) + 1)])
    return {label: results[place - 1] for label, place in enumerate(places, 1)}


async def _checked(answer: CheckedAnswer, draft: Draft, settings: Settings, options: Options) -> Check:
    if len(answer.written) + sum(len(result.content) for result in answer.evidence.values()) > LONG_TEXTS:
        return await run_blocking(_check, answer, draft, settings, options)
    return _check(answer, draft, settings, options)


def _check(answer: CheckedAnswer, draft: Draft, settings: Settings, options: Options) -> Check:
    policies = settings.citation_check
    flags, quotes = check_answer(answer, draft, policies, require_citations=options.require_citations)
    quotes += draft["quotes"] or []
    # What no model wrote stands in the evidence word for word.
    score = round(_support(answer) if answer.written else float(answer.cited > 0), 4)
    verdict = verdict_of(flags, policies, repaired=draft["repaired"] or not answer.written)
    return {
        **EMPTY_CHECK,
        "score": score,
        "flags": flags + _finish_flags(draft) + _repetition(answer.written),
        "quotes": quotes,
        "verdict": _reviewed(verdict, score, draft, settings),
    }


def _reviewed(verdict: Verdict, score: float, draft: Draft, settings: Settings) -> Verdict:
    """The verdict where a person may decide: what they decided stands, and an answer with little support waits."""
    if draft["review"]:
        return "pass"
    least = settings.human_review.support_below
    waits = least is not None and score < least and draft["outcome"] == "answered"
    return "review" if waits and verdict == "pass" else verdict


def _finish_flags(draft: Draft) -> list[Flag]:
    kinds: dict[str, Any] = {
        "length": ("truncated", "the model reached its length limit"),
        "error": ("incomplete", "the model failed before the answer was complete"),
        "refusal": ("refusal", "the model declined to answer"),
    }
    if draft["finish"] not in kinds:
        return []
    kind, detail = kinds[draft["finish"]]
    return [{"kind": kind, "sentence": "", "detail": detail}]


def _repetition(written: str) -> list[Flag]:
    again = repeated(written)
    if again is None:
        return []
    beginning = " ".join(written[again : again + 60].split())
    return [{"kind": "repetitive", "sentence": "", "detail": f"the model repeats itself from “{beginning}” on"}]


def _support(answer: CheckedAnswer) -> float:
    # Loaded with the first answer that a model wrote.
    from groundgraph.answers.check_support import lexical_support

    return lexical_support(answer)
