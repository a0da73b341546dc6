"""The record of a turn: complete in the store with evidence by reference, compact in the thread, with texts for a
reader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, cast
from urllib.parse import quote

from groundgraph.answers.citations import resolve_citations
from groundgraph.core.evidence import EvidenceRecord, as_row, from_record
from groundgraph.core.failure import NOTHING_LACKING, Degradation
from groundgraph.core.intent import EMPTY_INTENT, STYLES, IntentState
from groundgraph.core.turn_record import TurnRecord
from groundgraph.core.turn_values import (
    EMPTY_CHECK,
    EMPTY_DRAFT,
    EMPTY_RETRIEVAL,
    EMPTY_TURN,
    Citation,
    Draft,
    ModelCall,
    Needs,
    Outcome,
    Retrieval,
    seconds_waited,
)
from groundgraph.settings.context import Options

# What can be told from the state of a turn: its outcome, the style it asks for.


def absence_outcome(retrievals: Iterable[Retrieval]) -> Outcome:
    """Why there is no evidence: `insufficient` when the sources answered, `unavailable` when one could not.

    A source that was skipped counts as one that could not answer, unless only a required filter was missing: that is no
    outage. So does one that had to search without a part of itself.
    """
    found = list(retrievals)
    return "unavailable" if any(map(is_out, found)) or not found else "insufficient"


def is_out(entry: Retrieval) -> bool:
    """Whether a source, or a part of it that finds things, could not be asked."""
    return _lacks_a_part(entry) or (entry["status"] != "ok" and not lacks_filter(entry))


def lacks_filter(entry: Retrieval) -> bool:
    """Whether a source was left out because a filter that it requires is not set."""
    return entry["error_type"] == "RequiredField"


def _lacks_a_part(entry: Retrieval) -> bool:
    return any(told["part"] not in NOTHING_LACKING for told in entry["degraded"])


def asked_style(intent: IntentState, metadata: Mapping[str, Any], options: Options) -> str:
    """This turn's extracted style, else the session's, else the configured one."""
    for style in (intent["output_style"], metadata.get("synthesis_style")):
        if style in STYLES:
            return str(style)
    return options.style


def reworded(intent: Mapping[str, Any]) -> list[str]:
    """What a second look asked in other words, if one was taken by a model."""
    report = intent.get("stages", {}).get("second_look", {})
    return [report["question"]] if report.get("by") == "model" else []


HISTORY_TURNS = 10
# Where a stored record says behind which checkpoint it was made, which is nothing for a reader.
KEPT_AT = "kept_at"
# In the record of a fork, the id of its turn as the thread's state has it.
BEGUN_AS = "begun_as"
_INTENT = ("mode", "text_queries", "filters", "scope", "output_style", "categories", "raw_data", "issues")
_FOUND_BY_SOME = ("dropped", "rewritten", "complex", "sub_queries", "stages")
_CHECK = ("labels", "order", "quotes", "score", "answerable", "flags")
_QUESTION_CHARS = 120


def provenance_namespace(thread_id: object) -> tuple[str, ...]:
    """Where the records of a thread stand in the store."""
    return ("groundgraph", "provenance", _label(thread_id))


def messages_namespace(thread_id: object) -> tuple[str, ...]:
    """Where the messages stand that a thread's window has left behind."""
    return ("groundgraph", "messages", _label(thread_id))


def conversation_namespace(thread_id: object) -> tuple[str, ...]:
    """Where stands what whoever serves a thread keeps of it: its owner and title, its branches, people's marks."""
    return ("groundgraph", "conversation", _label(thread_id))


def _label(thread_id: object) -> str:
    # A label of a namespace must be there and must not hold a full stop. LangGraph takes numbers and UUIDs as ids too.
    return quote(str(thread_id), safe="").replace(".", "%2E") or "-"


def _choices(intent: IntentState, draft: Draft) -> dict[str, Any]:
    # A model that asks back in its answer names no choices.
    choices = intent["stages"].get("ask_back", {}).get("choices")
    return {"choices": choices} if draft["outcome"] == "clarify" and choices else {}


def stored_record(state: Mapping[str, Any], notes: list[str], thread_id: object | None) -> dict[str, Any]:
    """The complete record of a turn, evidence as [key, relevance, score].

    `results` are in the order of the ranking, in which a model was shown them: `citation_check.order` tells the place
    that a label of the answer refers to. `total_results` counts before deduplication, `deduplicated_to` after it.
    `steps` are those that were timed, in their order; the search stands before the first that tells what `came_in`.
    Times are in milliseconds: `retrieval_time_ms` is that of the slowest task, since they run at once.
    """
    turn, ranking, draft, retrievals = state["turn"], state["ranking"], state["draft"], state["retrievals"]
    intent, check = state["intent"], state["check"]
    steps = _steps(state)
    times = [entry["elapsed_ms"] for entry in retrievals.values()]
    return {
        "turn_id": turn["id"],
        "thread_id": None if thread_id is None else str(thread_id),
        "question": turn["question"],
        "language": turn["language"],
        **_said(turn, EMPTY_TURN, ("path", "state", "chosen", "edited")),
        "outcome": draft["outcome"],
        "answer": draft["text"],
        **_choices(intent, draft),
        "style": {"asked": draft["asked_style"], "used": draft["style"]},
        "finish": draft["finish"],
        "written": draft["written"],
        "intent": {**_picked(intent, _INTENT), **_said(intent, EMPTY_INTENT, _FOUND_BY_SOME)} if intent["mode"] else {},
        "sources": {name: _recorded(report) for name, report in source_reports(retrievals).items()},
        "results_by_source": ranking["by_source"],
        "results": ranking["refs"],
        "total_results": ranking["total"],
        "deduplicated_to": len(ranking["refs"]),
        "found_again": ranking["found_again"],
        "strategies": {"merge": ranking["strategy"], **ranking["strategies"]} if ranking["strategy"] else {},
        "answerable": ranking["answerable"],
        "clusters": ranking["clusters"],
        "models": [
            *intent["calls"],
            *retrieval_calls(retrievals),
            *ranking["calls"],
            *draft["calls"],
        ],
        "citation_check": _checked(check) if check["elapsed_ms"] is not None else {},
        "repaired": draft["repaired"],
        **_said(draft, EMPTY_DRAFT, ("review",)),
        "notes": notes,
        "retrieval_time_ms": max(times, default=0.0),
        "intent_resolution_time_ms": intent["elapsed_ms"] or 0.0,
        "steps": steps,
        "timings_ms": {step["step"]: step["elapsed_ms"] for step in steps},
        "started_at": turn["started_at"],
    }


def _checked(check: Mapping[str, Any]) -> dict[str, Any]:
    return {**_picked(check, _CHECK), **_said(check, EMPTY_CHECK, ("second_opinion",))}


def _picked(values: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Those of `values` under `names` that are there."""
    return {name: values[name] for name in filter(values.__contains__, names)}


def _said(values: Mapping[str, Any], empty: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Those of `values` under `names` that say something, as those of `empty` do not."""
    return {name: values[name] for name in names if values[name] != empty[name]}


def _steps(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    intent, times = state["intent"], {name: ran["elapsed_ms"] for name, ran in state["intent"]["stages"].items()}
    first = {name: times.pop(name) for name in ("rewrite_question",) if name in times}
    before = {**first, "resolve_intent": intent["elapsed_ms"], **times}
    behind = {"answer": state["draft"]["elapsed_ms"], "check_citations": state["check"]["elapsed_ms"]}
    return [*_timed(before), *map(dict, state["ranking"]["works"]), *_timed(behind)]


def _timed(times: Mapping[str, float | None]) -> list[dict[str, Any]]:
    return [{"step": step, "elapsed_ms": time} for step, time in times.items() if time is not None]


def _recorded(report: Mapping[str, Any]) -> dict[str, Any]:
    """A source's report as the record has it: with the text of a failure in place of its words for readers."""
    found = {name: value for name, value in report.items() if name != "failure"}
    if "degraded" in found:
        found["degraded"] = [
            {**{name: told[name] for name in ("part", "reason")}, **_type_of(told)} for told in found["degraded"]
        ]
    return found


def _type_of(told: Degradation) -> dict[str, str]:
    return {"error_type": told["failure"]["type"]} if "failure" in told else {}


def retrieval_calls(retrievals: Mapping[str, Retrieval]) -> list[ModelCall]:
    """The calls of models by the chains of the sources, task by task."""
    return [call for _, entry in sorted(retrievals.items()) for call in entry["calls"]]


def source_reports(retrievals: Mapping[str, Retrieval]) -> dict[str, dict[str, Any]]:
    """Per source: its worst status, its queries, how much was found, kept and dropped, its error, its time, and what it
    had to do without; with the class of a failure."""
    order = ("ok", "skipped", "timed_out", "schema_changed", "failed")
    reports: dict[str, dict[str, Any]] = {}
    for _, entry in sorted(retrievals.items()):
        report = reports.setdefault(
            entry["source"],
            {"status": "ok", "queries": [], "found": 0, "kept": 0, "dropped": {}, "elapsed_ms": 0.0, "attempts": 0},
        )
        if order.index(entry["status"]) >= order.index(report["status"]):
            report["status"] = entry["status"]
            report |= (
                _said(entry, EMPTY_RETRIEVAL, ("error", "error_type", "failure")) if entry["status"] != "ok" else {}
            )
        report["queries"] += [entry["query"]] if entry["query"] else []
        report["found"] += entry["found"]
        report["kept"] += len(entry["refs"])
        report["attempts"] += entry["attempts"]
        report["elapsed_ms"] = max(report["elapsed_ms"], entry["elapsed_ms"])
        for told in entry["degraded"]:
            known = report.setdefault("degraded", [])
            known += [] if told in known else [told]
        for reason, number in entry["dropped"].items():
            report["dropped"][reason] = report["dropped"].get(reason, 0) + number
    return reports


_COMPACT = [
    "turn_id",
    "outcome",
    "intent",
    "results_by_source",
    "results",
    "total_results",
    "deduplicated_to",
    "retrieval_time_ms",
    "intent_resolution_time_ms",
]


def turn_of_thread(record: Mapping[str, Any]) -> str:
    """The id that the thread's state has for the turn of a record; a fork shares it with what it was forked from."""
    return str(record.get(BEGUN_AS, record.get("turn_id")))


def compact_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a record that the thread's metadata holds; `load_provenance` gives the rest."""
    compact = {name: record[name] for name in _COMPACT}
    compact["results"] = [ref[0] for ref in record["results"]]
    compact["results_by_source"] = {
        name: [ref[:2] for ref in refs] for name, refs in record["results_by_source"].items()
    }
    compact["sources"] = {name: report["status"] for name, report in record["sources"].items()}
    return {**compact, **_picked(record, ("forked_from",))}


def history_entry(record: Mapping[str, Any]) -> dict[str, Any]:
    """One turn in the thread's history."""
    return {
        "turn_id": record["turn_id"],
        "question": record["question"][:_QUESTION_CHARS],
        "outcome": record["outcome"],
        "total_results": record["total_results"],
        "deduplicated_to": record["deduplicated_to"],
    }


def with_texts(record: Mapping[str, Any], records: Mapping[str, EvidenceRecord]) -> dict[str, Any]:
    """The record with each piece of evidence spelled out, those of the ranking with the labels of the answer.

    What the answer does not cite has the labels behind those that it uses.
    """
    order = record["citation_check"].get("order", [])
    places = range(1, len(record["results"]) + 1)
    label_of = {place: label for label, place in enumerate(dict.fromkeys([*order, *places]), 1)}

    # Most stand in both: in the ranking, and among those of their source.
    rows = {key: as_row(one, 0.0) for key, one in records.items()}

    return {
        **record,
        "results": [
            {**rows[ref[0]], "relevance": ref[1], "label": label_of[place], "score": ref[2]}
            for place, ref in enumerate(record["results"], 1)
        ],
        "results_by_source": {
            name: [{**rows[ref[0]], "relevance": ref[1], "score": ref[2]} for ref in refs]
            for name, refs in record["results_by_source"].items()
        },
    }


def reader_notes(note: Callable[..., str], state: Mapping[str, Any]) -> list[str]:
    """What a reader of the answer must know: about the message, the sources that are missing, the answer itself."""
    language = state["turn"]["language"]
    notes = [*state["turn"]["issues"]]
    notes += state["intent"]["issues"]
    if state["intent"]["categories"] and state["draft"]["outcome"] == "insufficient":
        notes.append(note("only_categories", language, categories=", ".join(state["intent"]["categories"])))
    for name, report in source_reports(state["retrievals"]).items():
        notes += _source_notes(note, language, name, report)
    notes += state["ranking"]["issues"]
    for needs in state["ranking"]["needs"]:
        notes.append(_needs_note(note, language, needs))
    notes += state["draft"]["notes"]
    removed = list(dict.fromkeys(state["draft"]["removed"]))
    if removed:
        notes.append(note("labels_removed", language, numbers=[f"[{number}]" for number in removed]))
    if state["draft"]["removed_links"]:
        notes.append(note("links_removed", language, count=len(state["draft"]["removed_links"])))
    return list(dict.fromkeys(notes))


def _needs_note(note: Callable[..., str], language: str, needs: Needs) -> str:
    """That something would have to be computed, or what of a question for a count or for rows was not understood."""
    if "unread" in needs:
        name = "rows_unread" if needs["function"] == "rows" else "words_unread"
        return note(name, language, words=", ".join(needs["unread"]), tables=needs["tables"])
    if "quantity" in needs:
        return note("quantity_unread", language, column=needs["quantity"], tables=needs["tables"])
    return note("needs_computation", language, function=needs["function"], tables=needs["tables"])


def _source_notes(note: Callable[..., str], language: str, name: str, report: Mapping[str, Any]) -> list[str]:
    if report["status"] == "timed_out":
        return [note("source_timed_out", language, name=name, seconds=seconds_waited(report))]
    if report["status"] != "ok":
        if report["status"] == "skipped":
            return [note("source_skipped", language, name=name, reason=report["error"])]
        return [note("source_failed", language, name=name, reason=report["failure"])]
    notes = [
        note("source_degraded", language, name=name, part=told["part"], reason=told.get("failure", told["reason"]))
        for told in report.get("degraded", [])
    ]
    outside = report["dropped"].get("outside_filter", 0)
    if outside:
        notes.append(note("results_dropped", language, name=name, count=outside, reason="filter"))
    return notes


# A stored record with everything that can be found again from its references.


def record_keys(record: Mapping[str, Any]) -> list[str]:
    """The keys of all evidence that a stored record refers to."""
    refs = chain(record["results"], *record["results_by_source"].values())
    return list(dict.fromkeys([ref[0] for ref in refs]))


def full_record(record: Mapping[str, Any], bodies: Mapping[str, EvidenceRecord]) -> TurnRecord:
    """The record with its evidence spelled out and its citations resolved."""
    return cast("TurnRecord", {**with_texts(record, bodies), "citations": _citations(record, bodies)})


def _citations(record: Mapping[str, Any], bodies: Mapping[str, EvidenceRecord]) -> list[Citation]:
    check, results = record["citation_check"], record["results"]
    labels = check.get("labels", [])
    # A record of before labels were numbered by first use has no order: its labels are places.
    order = check.get("order") or range(1, len(results) + 1)
    refs = {label: results[order[label - 1] - 1] for label in labels}
    cited = {label: from_record(bodies[ref[0]], ref[1]) for label, ref in refs.items()}
    written = record["answer"][: record["written"]]
    quotes = check.get("quotes", [])
    language = record.get("language") or "en"
    return resolve_citations(labels, written, cited, question=record["question"], quotes=quotes, language=language)
