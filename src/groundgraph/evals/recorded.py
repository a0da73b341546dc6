"""Turns that people marked: what share they found good, and what another configuration makes of the same questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from groundgraph.evals.model_check.figures import Share
from groundgraph.evals.run_queries import EvaluationFailed, Progress, failures_of
from groundgraph.graph.open_graph import open_graph
from groundgraph.settings.settings import Settings

GOOD, BAD = "good", "bad"


@dataclass(frozen=True)
class Answered:
    """What a configuration made of a question.

    Attributes:
        outcome: of the turn.
        answer: its text.
        support: how far the evidence holds it, from 0 to 1; None where nothing was checked.
        cited: where its citations lead, each once.
        failures: why sources or models failed, a sentence each.
    """

    outcome: str
    answer: str
    support: float | None
    cited: tuple[str, ...]
    failures: tuple[str, ...] = ()

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Answered:
        """That of a full record."""
        cited = dict.fromkeys(one["location"]["shown"] for one in record["citations"])
        support = record["citation_check"].get("score")
        return cls(record["outcome"], record["answer"], support, tuple(cited), failures_of(record))


@dataclass(frozen=True)
class MarkedTurn:
    """A turn that somebody marked.

    Attributes:
        thread: its thread, as `groundgraph report` takes it.
        turn: its id, as `groundgraph report` takes it.
        question: what was asked.
        before: (role, text) of what was said before.
        mark: `good` or `bad`.
        comment: what they wrote with it.
        settings: the `settings_hash` of the configuration; empty where it was not kept.
        answered: what they marked.
    """

    thread: str
    turn: str
    question: str
    before: tuple[tuple[str, str], ...]
    mark: str
    comment: str
    settings: str
    answered: Answered


def marks_found(turns: Sequence[MarkedTurn]) -> dict[str, Any]:
    """The share that was marked good, of all, by outcome and by configuration, and each turn that was marked bad."""
    bad = [turn for turn in turns if turn.mark == BAD]
    return {
        "good": _share(turns).to_dict(),
        "outcomes": _shares(turns, lambda turn: turn.answered.outcome),
        "settings": _shares(turns, lambda turn: turn.settings or "unknown"),
        "bad": [_listed(turn) for turn in bad],
    }


def _share(turns: Sequence[MarkedTurn]) -> Share:
    return Share(sum(turn.mark == GOOD for turn in turns), len(turns))


def _shares(turns: Sequence[MarkedTurn], key: Callable[[MarkedTurn], str]) -> dict[str, Any]:
    names = sorted({key(turn) for turn in turns})
    return {name: _share([turn for turn in turns if key(turn) == name]).to_dict() for name in names}


def _listed(turn: MarkedTurn) -> dict[str, Any]:
    kept = {name: getattr(turn, name) for name in ("thread", "turn", "question", "comment", "settings")}
    return {**kept, "outcome": turn.answered.outcome}


async def ask_again(
    settings: Settings, turns: Sequence[MarkedTurn], on_progress: Progress | None = None
) -> list[Answered]:
    """What a configuration makes of the questions of `turns`, each behind what was said before it then.

    Args:
        settings: see `conversation_settings`.
        turns: in the order of the result.
        on_progress: called after each.

    Raises:
        ConfigurationError: the settings cannot work.
        EvaluationFailed: a source or a model failed in every turn.
    """
    found: list[Answered] = []
    async with open_graph(settings) as graph:
        for number, turn in enumerate(turns, 1):
            given = {"messages": [*turn.before, ("user", turn.question)]}
            config: Any = {"configurable": {"thread_id": f"question-{number}"}}
            found.append(Answered.of((await graph.ainvoke(given, config))["provenance"]))
            if on_progress:
                on_progress(number, len(turns))
    if found and all(one.failures for one in found):
        raise EvaluationFailed(f"Every turn failed, so nothing was compared. {found[0].failures[0]}")
    return found


def compared_turns(turns: Sequence[MarkedTurn], again: Sequence[Answered], settings: str) -> dict[str, Any]:
    """Both answers to each question, those that differ most first; nothing here says which one is right.

    Args:
        turns: as they were marked.
        again: what the other configuration made of each.
        settings: the name of that configuration.
    """
    pairs = [
        {**_listed(turn), "mark": turn.mark, "before": asdict(turn.answered), "after": asdict(after)}
        for turn, after in zip(turns, again, strict=True)
    ]
    kinds = ("outcome", "answer", "cited")
    for pair in pairs:
        pair["differs"] = [kind for kind in kinds if pair["before"][kind] != pair["after"][kind]]
    pairs.sort(key=lambda pair: (pair["mark"] != BAD, "outcome" not in pair["differs"], -len(pair["differs"])))
    return {"settings": settings, "marks": {mark: _kept_so(pairs, mark) for mark in (GOOD, BAD)}, "turns": pairs}


def _kept_so(pairs: Sequence[Mapping[str, Any]], mark: str) -> dict[str, int]:
    own = [pair["differs"] for pair in pairs if pair["mark"] == mark]
    return {"n": len(own), "same": own.count([]), "other_outcome": sum("outcome" in differs for differs in own)}


def recorded_lines(found: Mapping[str, Any]) -> list[str]:
    """The marks, and the comparison where there is one, for a reader."""
    lines = [f"Marked good: {_told(found['good'])}"]
    lines += [f"  {name}: {_told(share)}" for name, share in found["outcomes"].items()]
    lines += [f"  settings {name}: {_told(share)}" for name, share in found["settings"].items()]
    for one in found["bad"]:
        comment = f"\n    > {one['comment']}" if one["comment"] else ""
        lines.append(f"Bad ({one['outcome']}): {one['question']}{comment}")
        lines.append(f"    report {one['thread']} --turn={one['turn']}")
    if "again" in found:
        lines.append(f"Asked again with the settings {found['again']['settings']}:")
        told = "{n} marked {mark}: {same} the same, {other_outcome} with another outcome"
        lines += [f"  {told.format(mark=mark, **kept)}" for mark, kept in found["again"]["marks"].items()]
    return lines


def _told(share: Mapping[str, Any]) -> str:
    low, high = share["interval"]
    return f"{share['right']} of {share['n']} ({low:.0%} to {high:.0%})"
