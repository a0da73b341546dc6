"""What a check found, in figures: a share with its interval for each mark, what a turn takes, and what is
advised by that."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any, NamedTuple

from groundgraph.evals.measures import Interval
from groundgraph.evals.model_check.cases import ANSWER_SKILLS
from groundgraph.evals.model_check.run_cases import BY_DOCUMENT, FORMS, REPAIRED, Asked
from groundgraph.evals.model_check.verdicts import TITLES
from groundgraph.models.replies import OWN
from groundgraph.settings.services import ModelSettings

# The quantile of the normal distribution for 95 %.
_Z = 1.959964
_DIGITS = 4
_REPLY_CHARS = 300
# Tokens for which prices are told.
PER = 1_000_000
_TOKENS = ("input_tokens", "output_tokens")


class Share(NamedTuple):
    """How many of how many cases are right."""

    right: int
    n: int

    @property
    def value(self) -> float:
        """From 0 to 1; 0 of nothing."""
        return self.right / self.n if self.n else 0.0

    @property
    def interval(self) -> Interval:
        """Wilson's 95 % interval (1927): unlike the bootstrap's it has a width when all cases are right."""
        if not self.n:
            return 0.0, 1.0
        square = _Z * _Z
        middle = self.value + square / (2 * self.n)
        reach = _Z * math.sqrt(self.value * (1 - self.value) / self.n + square / (4 * self.n * self.n))
        below = 1 + square / self.n
        return max(0.0, (middle - reach) / below), min(1.0, (middle + reach) / below)

    def to_dict(self) -> dict[str, Any]:
        """The share as JSON."""
        low, high = self.interval
        shown = {"share": round(self.value, _DIGITS), "interval": [round(low, _DIGITS), round(high, _DIGITS)]}
        return {"right": self.right, "n": self.n, **shown}


class Price(NamedTuple):
    """Of a million tokens, in any currency."""

    sent: float
    received: float


@dataclass(frozen=True)
class ModelCheck:
    """The figures of one run.

    Attributes:
        model: its name.
        asked: what came of each case, second looks among them.
        price: where it is known.
        form: in which groundgraph asks it for an object, one of `FORMS`.
    """

    model: str
    asked: Sequence[Asked]
    price: Price | None = None
    form: str = OWN

    @property
    def counting(self) -> list[Asked]:
        """The cases, each once."""
        return [one for one in self.asked if one.counts]

    @property
    def right(self) -> Share:
        """The cases with nothing wrong."""
        return Share(sum(one.right for one in self.counting), len(self.counting))

    def share(self, mark: str) -> Share:
        """The cases in which nothing is wrong with `mark`, among those that it applies to."""
        faults = [one.marks[mark] for one in self.asked if mark in one.marks]
        return Share(sum(not found for found in faults), len(faults))

    def below(self, marks: dict[str, float]) -> list[str]:
        """The names in `marks` whose share is lower than is wanted; the empty one is that of the whole."""
        return [name for name, least in marks.items() if (self.share(name) if name else self.right).value < least]

    def per_turn(self) -> dict[str, Any]:
        """What an answer takes, over the cases with short contexts: seconds, tokens, and price where it is known."""
        turns = [one for one in self.counting if one.case.skill in ANSWER_SKILLS - {"long"}]
        seconds = sorted(one.seconds for one in turns)
        first = [one.first for one in turns if one.first is not None]
        return {
            "seconds": round(median(seconds), 3),
            "seconds_90": round(seconds[math.ceil(0.9 * len(seconds)) - 1], 3),
            "first_text": round(median(first), 3) if first else None,
            "streams": sum(one.pieces > 1 for one in turns) > len(turns) / 2,
            **self._tokens([one.calls for one in turns]),
        }

    def _tokens(self, calls: Sequence[Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
        """The mean of tokens sent and received over turns with these `calls`, and what they cost."""
        sent, received = (fmean(sum(call.get(key, 0) for call in own) for own in calls) for key in _TOKENS)
        price = (sent * self.price.sent + received * self.price.received) / PER if self.price else None
        return {
            "input_tokens": round(sent),
            "output_tokens": round(received),
            "estimated": any(call.get("estimated") for own in calls for call in own),
            "price": None if price is None else round(price, 6),
        }

    def per_sentence(self) -> dict[str, Any]:
        """What a second opinion takes for a sentence and its evidence: seconds and tokens."""
        judged = [one for one in self.counting if one.case.skill == "entailment"]
        sentences = max(1, sum(len(one.case.said) + len(one.case.planted) for one in judged))
        tokens = sum(call.get(key, 0) for one in judged for call in one.calls for key in _TOKENS)
        return {
            "seconds": round(sum(one.seconds for one in judged) / sentences, 3),
            "tokens": round(tokens / sentences),
        }

    def to_dict(self) -> dict[str, Any]:
        """The figures as `groundgraph check-model --json` prints them, without the advice."""
        forms = {form: {"title": title, **self.share(form).to_dict()} for form, title in FORMS.items()}
        return {
            "model": self.model,
            **self.right.to_dict(),
            "marks": {mark: {"title": title, **self.share(mark).to_dict()} for mark, title in TITLES.items()},
            "structured_output": forms,
            "turn": self.per_turn(),
            "second_opinion": self.per_sentence(),
            # A fault that stands for several marks, such as having declined, is told of the first of them.
            "wrong": [_wrong(one) for one in self.counting if not one.right],
            "failed": [{"case": one.case.id, "reason": one.failure} for one in self.counting if one.failure],
        }


def _wrong(one: Asked) -> dict[str, Any]:
    told: dict[tuple[str, ...], str] = {}
    for mark, found in one.marks.items():
        if found and mark not in FORMS:
            told.setdefault(found, mark)
    faults = {mark: list(found) for found, mark in told.items()}
    return {"case": one.case.id, "ask": one.case.ask, "faults": faults, "reply": one.reply[:_REPLY_CHARS]}


def check_lines(found: dict[str, Any]) -> list[str]:
    """What `to_dict` gave, for a reader."""
    width = max(map(len, TITLES.values()))
    low, high = found["interval"]
    lines = [f"{found['model']}: {found['right']} of {found['n']} cases right, {100 * found['share']:.0f} %"]
    lines[0] += f" [{100 * low:.0f}, {100 * high:.0f}]"
    for row in found["marks"].values():
        low, high = row["interval"]
        lines.append(
            f"  {row['title']:<{width}} {row['right']:>3} of {row['n']:<3} {100 * row['share']:>4.0f} %"
            f"  [{100 * low:.0f}, {100 * high:.0f}]"
        )
    forms = ", ".join(f"{row['title']} {row['right']} of {row['n']}" for row in found["structured_output"].values())
    return [*lines, f"Structured output by {forms}.", turn_line(found["turn"]), "In brackets: 95 % interval (Wilson)."]


def turn_line(turn: dict[str, Any]) -> str:
    """What an answer takes, in a sentence."""
    first = "" if turn["first_text"] is None else f", its first text after {turn['first_text']:.2f} s"
    told = f"An answer takes {turn['seconds']:.2f} s (90 %: {turn['seconds_90']:.2f} s){first}"
    streams = "streams" if turn["streams"] else "does not stream"
    about = "about " if turn["estimated"] else ""
    price = "" if turn["price"] is None else f", and costs {1000 * turn['price']:.3g} a thousand"
    return f"{told}, {streams}, uses {about}{turn['input_tokens']} + {turn['output_tokens']} tokens{price}."


# The settings that a check advises for its model, each with the figure that it rests on.

# A stage in which a model errs more often does more harm than good.
_TRUSTED = 0.75
# What a profile of LangChain says of a model whose best form it is; JSON mode and text are what is left.
_PROFILES = {
    "json_schema": {"structured_output": True},
    "function_calling": {"structured_output": False, "tool_calling": True},
    "json_mode": {"structured_output": False, "tool_calling": False},
    "text": {"structured_output": False, "tool_calling": False},
}


def advised_settings(check: ModelCheck, model: ModelSettings | None) -> str:
    """A piece of `groundgraph.yaml` for the model, without its secrets.

    Args:
        check: what was found.
        model: the section `llm` that was checked; None for a model from Python, which is left out.
    """
    return "\n".join([*_model(check, model), *_queries(check), *_citations(check), *_repair(check), *_judge(check), ""])


def _model(check: ModelCheck, model: ModelSettings | None) -> list[str]:
    best = max(FORMS, key=lambda form: (check.share(form).right, form == check.form))
    profile = None if best == check.form else _PROFILES.get(best)
    told = [f"# Objects filled in by {FORMS[best]}: {_of(check.share(best))}."]
    if model is None:
        return told
    named = {"provider": model.provider, "model": model.model, "profile": profile}
    shown = ", ".join(f"{key}: {json.dumps(value)}" for key, value in named.items() if value is not None)
    return [*told, f"llm: {{{shown}}}"]


def _queries(check: ModelCheck) -> list[str]:
    share = check.share("queries")
    mode = "extract" if share.value >= _TRUSTED else "static"
    meaning = "it writes queries" if mode == "extract" else "the message itself is searched for"
    return [f"# Right queries: {_of(share)}, so {meaning}.", f"intent: {{mode: {mode}}}"]


def _citations(check: ModelCheck) -> list[str]:
    sections = Share(
        sum(not (one.marks["form"] or one.marks["passage"]) for one in check.counting if one.case.skill == "citing"),
        sum(one.case.skill == "citing" for one in check.counting),
    )
    documents = check.share(BY_DOCUMENT)
    chosen = "source" if documents.right > sections.right else "section"
    told = f"# Cited rightly: {_of(sections)} by section, {_of(documents)} by document."
    return [told, f"synthesis: {{require_citations: true, citation_format: {chosen}}}"]


def _repair(check: ModelCheck) -> list[str]:
    mended = check.share(REPAIRED)
    policy = "repair" if mended.n and mended.right * 2 >= mended.n else "annotate"
    told = f"# Wrong citations mended when told of them: {_of(mended)}." if mended.n else "# No citation was to mend."
    second, cost = check.share("entailment"), check.per_sentence()["tokens"]
    opinion = ", entailment: annotate" if second.value >= _TRUSTED else ""
    trusted = f"# Denials and swaps told from what evidence says: {_of(second)}, for about {cost} tokens a sentence"
    return [
        told,
        f"{trusted}{', so it can give a second opinion.' if opinion else ': ask another model for a second opinion.'}",
        f"citation_check: {{labels: {policy}, uncited: {policy}, support: {policy}{opinion}}}",
    ]


def _judge(check: ModelCheck) -> list[str]:
    judged = [one for one in check.counting if one.case.skill == "judging"]
    wrong = [len(one.case.read) for one in judged if not one.right]
    sizes = sorted({len(one.case.read) for one in judged if len(one.case.read) < min(wrong, default=1_000)})
    if not sizes:
        return ["# It lost count of four passages or misjudged them: leave reranking to something else."]
    told = f"# It graded {sizes[-1]} passages without a mistake; should you want it as a reranker:"
    return [told, f"# reranker: {{enabled: true, type: judge, candidates_count: {sizes[-1]}}}"]


def _of(share: Share) -> str:
    return f"{share.right} of {share.n}"
