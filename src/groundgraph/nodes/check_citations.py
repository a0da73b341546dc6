"""Whether the answer agrees with its evidence: labels, quotations, numbers, names, words; without a model.

Where a second opinion is configured, a judge says what these cannot see.
"""

from __future__ import annotations

import time
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NotRequired, cast

from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from groundgraph.answers.answer_gate import by_hand, says_something
from groundgraph.answers.check_support import check_names, check_support, check_uncited, lexical_support
from groundgraph.answers.citations import GENERAL_KNOWLEDGE, MAX_FLAGS, CheckedAnswer
from groundgraph.core.errors import InputInvalid
from groundgraph.core.evidence import EvidenceRecord, SourceResult, preview
from groundgraph.core.evidence_store import EvidenceStore
from groundgraph.core.turn_values import EMPTY_CHECK, Check, Draft, Flag, FoundQuote, Ranking, Turn, Verdict
from groundgraph.nodes.answer_styles import AnswerInput
from groundgraph.nodes.node import Node, evidence_scope
from groundgraph.prompts import Prompts
from groundgraph.resilience.blocking import run_blocking
from groundgraph.settings.answers import CitationCheckSettings, Policy
from groundgraph.settings.context import Context, Options, options_in_force
from groundgraph.settings.settings import Settings

if TYPE_CHECKING:
    from groundgraph.nodes.second_opinion import AskJudge, Opinion

# All checks of an answer together, and what the policies make of what they found.

MAX_FOUND_QUOTES = 20
CHECK_OF = {
    "unresolved_label": "labels",
    "link_removed": "links",
    "quote_not_found": "quotes",
    "number_unsupported": "numbers",
    "name_unsupported": "names",
    "no_citation": "uncited",
    "low_support": "support",
    "not_entailed": "entailment",
}
"""Which check raises a kind of flag, where the kind is not called like the check."""


def check_answer(
    answer: CheckedAnswer, draft: Draft, settings: CitationCheckSettings, *, require_citations: bool
) -> tuple[list[Flag], list[FoundQuote]]:
    """What the checks that are not off found, in their order; and the quotations that stand in the evidence.

    An answer that was cut off, or declined, is not asked for citations.
    """
    flags = list(_taken_out(draft, settings))
    quotes: list[FoundQuote] = []
    if answer.written and answer.evidence:
        asked = require_citations and draft["finish"] == "stop"
        found, quotes = check_prose(answer, settings, asked_for_citations=asked)
        flags += found
    return _fairly(flags), quotes[:MAX_FOUND_QUOTES]


def _flag(kind: str, detail: str) -> Flag:
    """A finding about the answer as a whole."""
    return {"kind": kind, "sentence": "", "detail": detail}


def _taken_out(draft: Draft, settings: CitationCheckSettings) -> Iterator[Flag]:
    """A flag for each label that was taken out because it referred to no evidence, and for each link or image that led
    elsewhere and was made plain text; that is named defanged."""
    for number in dict.fromkeys(draft["removed"] if settings.labels != "off" else ()):
        yield _flag("unresolved_label", f"[{number}] refers to no evidence")
    for target in dict.fromkeys(draft["removed_links"] if settings.links != "off" else ()):
        yield _flag("link_removed", f"{target} leads elsewhere than the evidence allows")


# One of these stands in whatever may be a quotation.
_MARKS = frozenset("\"'`“”„«»‘’‚‹›>")


def check_prose(
    answer: CheckedAnswer, settings: CitationCheckSettings, *, asked_for_citations: bool
) -> tuple[list[Flag], list[FoundQuote]]:
    """What the checks that are not off found, in their order; and the quotations that stand in the evidence."""
    # Loaded with the first answer that a model wrote: structured ones come sooner.
    from groundgraph.answers.check_numbers import check_numbers

    checks = {"numbers": check_numbers, "names": check_names, "uncited": check_uncited, "support": check_support}
    flags, quotes = _check_quotes(answer) if settings.quotes != "off" else ([], [])
    for name, check in checks.items():
        wanted = name != "uncited" or asked_for_citations
        flags += check(answer) if wanted and getattr(settings, name) != "off" else []
    return flags, quotes


def _check_quotes(answer: CheckedAnswer) -> tuple[list[Flag], list[FoundQuote]]:
    if _MARKS.isdisjoint(answer.written):
        return [], []
    from groundgraph.answers.check_quotes import check_quotes

    return check_quotes(answer)


def _fairly(flags: list[Flag]) -> list[Flag]:
    """At most `MAX_FLAGS`, in their order; many of one kind leave room for those of the others, or a label such as
    [1-99] would hide what a policy is about."""
    seen: Counter[str] = Counter()
    ranked: list[tuple[int, int]] = []
    for place, flag in enumerate(flags):
        ranked.append((seen[flag["kind"]], place))
        seen[flag["kind"]] += 1
    return [flags[place] for place in sorted(place for _, place in sorted(ranked)[:MAX_FLAGS])]


def flags_of(policy: Policy, flags: list[Flag], settings: CitationCheckSettings) -> list[Flag]:
    """Those of the findings for which `policy` is configured."""
    policy_of = settings.policies
    return [flag for flag in flags if policy_of.get(CHECK_OF.get(flag["kind"], flag["kind"])) == policy]


def verdict_of(flags: list[Flag], settings: CitationCheckSettings, *, repaired: bool) -> Verdict:
    """What happens to the answer: the strictest policy of what was found. A repair is tried once."""
    if flags_of("refuse", flags, settings):
        return "refuse"
    return "repair" if flags_of("repair", flags, settings) and not repaired else "pass"


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


# More characters of answer and evidence are compared beside the event loop.
LONG_TEXTS = 4000


class CheckCitationsInput(TypedDict, total=False):
    """What the step reads."""

    turn: Turn
    ranking: Ranking
    bodies: dict[str, EvidenceRecord]
    draft: Draft


class CheckCitationsUpdate(TypedDict):
    """What the step writes; it adds flags, of a second opinion its calls, and never changes the text, which may have
    been streamed, unless it was edited in the state and has passed no gate yet."""

    check: Check
    draft: NotRequired[Draft]


def check_citations(
    settings: Settings, prompts: Prompts, evidence: EvidenceStore, ask_judge: AskJudge | None = None
) -> Node[Any, CheckCitationsUpdate]:
    """The node; see `CheckCitationsUpdate`. What a template wrote from the evidence stands there and is not checked."""

    async def check_citations(state: CheckCitationsInput, runtime: Runtime[Context]) -> CheckCitationsUpdate:
        started = time.perf_counter()
        draft, turn, refs = state["draft"], state["turn"], state["ranking"]["refs"]
        scope, written = evidence_scope(settings, runtime, turn["options"]), draft["written"]
        # What no model wrote is not compared with the evidence.
        results = (
            await evidence.results(runtime.store, refs, state.get("bodies"), scope=scope)
            if written or draft["edited"]
            else []
        )
        if edited := draft["edited"]:
            draft = _by_hand(draft, results, prompts.note("answer_edited", turn["language"]))
            state = {**state, "draft": draft}
        options = options_in_force(settings, turn["options"], runtime.context)
        order = [place for place in draft["order"] if place <= len(refs)]
        answer = CheckedAnswer(
            written=draft["text"][: draft["written"]],
            question=turn["question"],
            evidence=_by_label(results, order) if written else {},
            cited=len(order),
            general=GENERAL_KNOWLEDGE if options.allow_parametric is True else (),
        )
        check = await _checked(answer, draft, settings, options)
        update: CheckCitationsUpdate = {"check": check, "draft": draft} if edited else {"check": check}
        if ask_judge and written and not flags_of("refuse", check["flags"], settings.citation_check):
            opinion = await ask_judge(answer, cast("AnswerInput", state))
            draft = _with_calls(draft, opinion, prompts, turn["language"])
            check |= _judged(check, opinion, draft, settings)
        if written and draft["repaired"] and _asks_for_repair(check["flags"], settings):
            note = prompts.note("repair_failed", turn["language"])
            draft = {**draft, "notes": list(dict.fromkeys([*draft["notes"], note]))}
        if draft is not state["draft"]:
            update["draft"] = draft
        check |= {
            "labels": _cited(draft, order),
            "order": order,
            "answerable": state["ranking"]["answerable"],
            "elapsed_ms": round((time.perf_counter() - started) * 1000, 3),
        }
        runtime.stream_writer({"stage": "check_citations", **_told(check, settings)})
        if settings.holds_answers and check["verdict"] == "pass":
            runtime.stream_writer({"stage": "answer_released"})
        return update

    async def check_and_judge(state: AnswerInput, runtime: Runtime[Context]) -> CheckCitationsUpdate:
        return await check_citations(state, runtime)

    # What only a judge has to know is not read without one.
    return check_and_judge if ask_judge else check_citations


def _told(check: Check, settings: Settings) -> Check:
    """What is told of a check while the turn runs: of an answer that nobody may read before a person has decided, which
    kinds of findings there are, and none of its words."""
    if check["verdict"] == "pass" or settings.human_review.support_below is None:
        return check
    return {**check, "flags": [_flag(flag["kind"], "") for flag in check["flags"]], "quotes": []}


def _by_hand(draft: Draft, results: Sequence[SourceResult], note: str) -> Draft:
    """An edited draft behind the gate; the decision of a person, if there was one, was about other words.

    Raises:
        InputInvalid: it says nothing.
    """
    text, written = draft["text"], draft["written"]
    passed = by_hand(draft, text[:written], text[written:], results)
    if not says_something(passed["text"][: passed["written"]]):
        told = "Give 'draft' a 'text', or go on from a state before the answer was written to have it written anew"
        raise InputInvalid(f"The answer that was edited in the turn's state says nothing: '{preview(text)}'. {told}.")
    return {**passed, "review": None, "notes": [*passed["notes"], note]}


def _asks_for_repair(flags: list[Flag], settings: Settings) -> bool:
    return verdict_of(flags, settings.citation_check, repaired=False) == "repair"


def _with_calls(draft: Draft, opinion: Opinion, prompts: Prompts, language: str) -> Draft:
    notes = [prompts.note("second_opinion_failed", language, reason=opinion.failure)] if opinion.failure else []
    return {**draft, "calls": [*draft["calls"], *opinion.calls], "notes": [*draft["notes"], *notes]}


def _judged(check: Check, opinion: Opinion, draft: Draft, settings: Settings) -> Any:
    """What changes in `check` by a second opinion."""
    flags = _fairly(check["flags"] + opinion.flags)
    verdict = verdict_of(flags, settings.citation_check, repaired=draft["repaired"])
    return {
        "flags": flags,
        "second_opinion": opinion.report,
        "verdict": _reviewed(verdict, check["score"], draft, settings),
    }


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
    score = round(lexical_support(answer) if answer.written else float(answer.cited > 0), 4)
    verdict = verdict_of(flags, policies, repaired=draft["repaired"] or not answer.written)
    return {
        **EMPTY_CHECK,
        "score": score,
        "flags": [*flags, *_as_it_ended(draft), *_repetition(answer.written)],
        "quotes": quotes,
        "verdict": _reviewed(verdict, score, draft, settings),
    }


def _reviewed(verdict: Verdict, score: float, draft: Draft, settings: Settings) -> Verdict:
    """The verdict where a person may decide: an answer with little support waits. What they wrote in its place goes out
    unless a policy refuses it; then they are asked again, since nobody but them ends the review."""
    if draft["review"]:
        return "review" if verdict == "refuse" else "pass"
    least = settings.human_review.support_below
    waits = least is not None and score < least and draft["outcome"] == "answered"
    return "review" if waits and verdict == "pass" else verdict


_ENDED = {
    "length": _flag("truncated", "the model reached its length limit"),
    "error": _flag("incomplete", "the model failed before the answer was complete"),
    "refusal": _flag("refusal", "the model declined to answer"),
}


def _as_it_ended(draft: Draft) -> Iterator[Flag]:
    if told := _ENDED.get(draft["finish"]):
        yield {**told}


def _repetition(written: str) -> Iterator[Flag]:
    if (again := repeated(written)) is not None:
        beginning = " ".join(written[again : again + 60].split())
        yield _flag("repetitive", f"the model repeats itself from “{beginning}” on")
