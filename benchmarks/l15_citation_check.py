"""L15: what the citation check sees and what it cannot, against human marks and on planted faults."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

from benchmarks.effort import Effort
from benchmarks.public_sets.faithfulness import (
    FAITHFUL,
    MarkedAnswer,
    Planted,
    auc,
    auc_difference_interval,
    auc_interval,
    plant_labels,
    plant_negations,
    plant_numbers,
    plant_quotes,
    plant_sentences,
    plant_swaps,
    read_answers,
    seconds_of_check,
    sentence_overlap,
    statements,
    support_score,
    word_overlap,
)
from benchmarks.report import Row
from groundgraph.answers.check_support import LEAST_SUPPORT, check_support
from groundgraph.text.words import words

ALLOWED_MS = 10.0
FALSE_ALARMS = 0.08


def run(effort: Effort) -> list[Row]:
    folder = Path(os.environ.get("GROUNDGRAPH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    file = folder / "mtrag_faithfulness" / "answers.jsonl"
    if not file.is_file():
        return [
            Row("L15", "citation check", "not measured: set GROUNDGRAPH_DATA to the public data", allowed="see text")
        ]
    answers = read_answers(file)
    times = sorted(seconds_of_check(answer) * 1000 for answer in answers)
    said = [(answer, claim.text) for answer in answers if answer.mark >= FAITHFUL for claim in statements(answer)]
    cut = sorted(sentence_overlap(*one) for one in said)[int(len(said) * FALSE_ALARMS)]
    return [
        _time(times),
        _auc(answers),
        _caught("unresolved labels caught", plant_labels(answers), 1.0, {"unresolved_label"}),
        _caught("altered quotes caught", plant_quotes(answers), 1.0, {"quote_not_found"}),
        _caught("unaltered quotes flagged", plant_quotes(answers, altered=False), None, {"quote_not_found"}),
        _numbers(answers),
        _false_alarms(answers, len(said)),
        _sentences(answers, cut),
        _blind("blind spot: negations caught", plant_negations(answers), cut),
        _blind("blind spot: swapped words caught", plant_swaps(answers), cut),
    ]


def _time(times: Sequence[float]) -> Row:
    at_95 = times[int(len(times) * 0.95)]
    measured = f"median {median(times):.1f} ms, p95 {at_95:.1f} ms"
    values: dict[str, float | str] = {"median_ms": median(times), "p95_ms": at_95}
    what = "CPU of the check of an answer, evidence never seen before"
    return Row("L15", what, measured, "", "", f"{ALLOWED_MS:g} ms", median(times) < ALLOWED_MS, values)


def _auc(answers: Sequence[MarkedAnswer]) -> Row:
    own, plain = auc(answers, support_score), auc(answers, word_overlap)
    low, high = auc_interval(answers, support_score)
    least, most = auc_difference_interval(answers, support_score, word_overlap)
    values: dict[str, float | str] = {"auc": own, "auc_low": low, "auc_high": high, "overlap_auc": plain}
    kept = own >= 0.91 and own >= plain
    what = "AUC of support.score against human marks; the checks were tuned on the same answers"
    measured = f"{own:.3f} ({low:.3f} to {high:.3f})"
    difference = f"{own - plain:+.3f} ({least:+.3f} to {most:+.3f})"
    return Row("L15", what, measured, f"{plain:.3f}", difference, "0.91 and the baseline", kept, values)


def _caught(what: str, planted: Iterable[Planted], reach: float | None, kinds: set[str], baseline: str = "") -> Row:
    found = [one.is_flagged(frozenset(kinds)) for one in planted]
    share = sum(found) / len(found)
    measured = f"{share:.1%} of {len(found)}"
    kept = None if reach is None else share >= reach
    allowed = "" if reach is None else f"{reach:.0%}"
    return Row("L15", what, measured, baseline, "", allowed, kept, {"share": share})


def _numbers(answers: Sequence[MarkedAnswer]) -> Row:
    planted = list(plant_numbers(answers))
    plain = sum(not set(words(one.changed)) <= _words(one.before) for one in planted) / len(planted)
    return _caught("changed numbers caught", planted, 0.95, {"number_unsupported"}, f"{plain:.1%}")


def _words(answer: MarkedAnswer) -> set[str]:
    return {word for passage in answer.passages for word in words(passage.content)}


def _false_alarms(answers: Sequence[MarkedAnswer], total: int) -> Row:
    flagged = sum(len(check_support(answer.checked)) for answer in answers if answer.mark >= FAITHFUL)
    share = flagged / total
    what = f"sentences of faithful answers flagged (below {LEAST_SUPPORT})"
    measured = f"{share:.1%} of {total}"
    return Row("L15", what, measured, f"{FALSE_ALARMS:.0%}, set", "", "8%", share <= FALSE_ALARMS, {"share": share})


def _sentences(answers: Sequence[MarkedAnswer], cut: float) -> Row:
    planted = list(plant_sentences(answers))
    plain = sum(sentence_overlap(one.before, one.sentence) < cut for one in planted) / len(planted)
    return _caught("foreign sentences caught", planted, 0.95, {"low_support"}, f"{plain:.1%}")


def _blind(what: str, planted: Iterable[Planted], cut: float) -> Row:
    found = list(planted)
    plain = sum(sentence_overlap(one.before, one.sentence) < cut for one in found) / len(found)
    share = sum(one.is_flagged() for one in found) / len(found)
    return Row("L15", what, f"{share:.1%} of {len(found)}", f"{plain:.1%}", "", "", None, {"share": share})
