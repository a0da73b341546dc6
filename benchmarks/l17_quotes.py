"""L17: the blocks of an answer without a model on public questions: how often they hold what a person answered.

Then the same questions with chatter around them, each in one of many ways (`chatter.json`), and each behind a turn that
has nothing to do with it: what the first block loses by that, and how many more are `insufficient`.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import tempfile
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from benchmarks.effort import QUICK, Effort
from benchmarks.report import Row
from groundgraph import load_settings, turn_graph
from groundgraph.evals.corpus_base import corpus_base
from groundgraph.evals.dataset import DatasetFiles, load_dataset
from groundgraph.sources.knowledge_base.source import KnowledgeBaseSource

# The set, the share of answers whose first quote holds the gold answer, and that of those where any quote does.
SETS = {"xquad_en": (0.80, 0.93), "xquad_ru": (0.76, 0.90)}
MOST_CHARACTERS = 600
# What the first block may lose.
MOST_LOST = {"with chatter around the question": 0.03, "after an unrelated turn": 0.01}
_CHATTER = json.loads(Path(__file__).with_name("chatter.json").read_text("utf-8"))
_QUICK_QUESTIONS = 40
_QUOTED = re.compile(r"^> (.*(?:\n>.*)*)", re.MULTILINE)
_PLACE = re.compile(r"\n?> — .*\Z")
_SHOWN = re.compile(r"\\(?=[^\w\s])")
_LABELS = re.compile(r" \[[\d, ]+\]\Z")


@dataclass(frozen=True)
class Quoted:
    """The blocks of one answer, in order, and what they should hold."""

    quotes: tuple[str, ...]
    gold: str
    characters: int
    insufficient: bool

    def holds(self, first: int | None = None) -> bool:
        """Whether one of the `first` quotes, of all without a number, holds the gold answer."""
        return any(_folded(self.gold) in _folded(quote) for quote in self.quotes[:first])


def run(effort: Effort) -> list[Row]:
    folder = Path(os.environ.get("GROUNDGRAPH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    if not all((folder / name).is_dir() for name in SETS):
        return [Row("L17", "first quotes", "not measured: set GROUNDGRAPH_DATA to the public data", allowed="see text")]
    most = _QUICK_QUESTIONS if effort is QUICK else None
    return [row for name in SETS for row in _of_set(folder / name, most)]


def _of_set(folder: Path, most: int | None) -> list[Row]:
    plain, *others = asyncio.run(answers_of(folder, most))
    return [*_rows(folder.name, plain), *_losses(folder.name, plain, dict(zip(MOST_LOST, others, strict=True)))]


async def answers_of(folder: Path, most: int | None) -> tuple[list[Quoted], list[Quoted], list[Quoted]]:
    """Those to the questions alone, with chatter, and after an unrelated turn."""
    dataset = load_dataset(DatasetFiles(folder))
    gold = _gold(dataset.queries_file)
    queries = dataset.queries[:most]
    ways = _CHATTER[folder.name[-2:]]
    with tempfile.TemporaryDirectory() as made:
        base = await corpus_base(dataset.corpora[0], Path(made))
        graph = turn_graph(load_settings({}), sources=[KnowledgeBaseSource(base)], checkpointer=InMemorySaver())

        async def ask(*messages: str) -> Mapping[str, Any]:
            config: Any = {"configurable": {"thread_id": uuid.uuid4().hex}}
            for message in messages:
                output = await graph.ainvoke({"messages": message}, config)
            return output

        plain, chatter, after = [], [], []
        for number, query in enumerate(queries):
            # Half the set away, since neighbours are about the same.
            unrelated = queries[(number + len(queries) // 2) % len(queries)]
            plain.append(_quoted(await ask(query.question), gold[query.id]))
            chatter.append(_quoted(await ask(_with_chatter(ways[number % len(ways)], query.question)), gold[query.id]))
            after.append(_quoted(await ask(unrelated.question, query.question), gold[query.id]))
    return plain, chatter, after


def _with_chatter(way: str, question: str) -> str:
    # What begins with a name or an abbreviation keeps its capital.
    continued = question if question[1:2].isupper() else question[0].lower() + question[1:]
    return way.format(question=question, continued=continued)


def _losses(name: str, plain: list[Quoted], others: Mapping[str, list[Quoted]]) -> list[Row]:
    before = share_of(plain)
    lost = {way: before - share_of(answers) for way, answers in others.items()}
    losses = [
        Row(
            "L17",
            f"{name}: the first block holds the answer {way}",
            f"{before - less:.3f}",
            f"{before:.3f} alone",
            f"{-less:+.3f}",
            f"at most {MOST_LOST[way]} less",
            less <= MOST_LOST[way],
            {"share": before - less, "lost": less},
        )
        for way, less in lost.items()
    ]
    refused = [
        Row("L17", f"{name}: insufficient {way}", f"{refused_of(answers):.3f}", f"{refused_of(plain):.3f} alone")
        for way, answers in others.items()
    ]
    return losses + refused


def share_of(answers: list[Quoted], first: int | None = 1) -> float:
    """The share of `answers` whose `first` quotes, all without a number, hold the gold answer."""
    return sum(answer.holds(first) for answer in answers) / len(answers)


def refused_of(answers: list[Quoted]) -> float:
    """The share of `answers` that are `insufficient`."""
    return sum(answer.insufficient for answer in answers) / len(answers)


def _gold(file: Path) -> dict[str, str]:
    rows = (json.loads(line) for line in file.read_text("utf-8").splitlines() if line)
    return {row["_id"]: row["answer"] for row in rows}


def _quoted(output: Mapping[str, Any], gold: str) -> Quoted:
    refused = output["outcome"] == "insufficient"
    return Quoted(tuple(map(_block, _QUOTED.findall(output["answer"]))), gold, len(output["answer"]), refused)


def _block(shown: str) -> str:
    return _LABELS.sub("", _SHOWN.sub("", _PLACE.sub("", shown)).replace("\n> ", "\n"))


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _rows(name: str, answers: list[Quoted]) -> list[Row]:
    first, every = SETS[name]
    measured = {
        "the first block holds": share_of(answers),
        "a block holds": share_of(answers, None),
    }
    rows = [
        Row(
            "L17",
            f"{name}: {what} the answer",
            f"{share:.3f}",
            allowed=f"at least {least}",
            ok=share >= least,
            values={"share": share, "questions": len(answers)},
        )
        for (what, share), least in zip(measured.items(), (first, every), strict=True)
    ]
    quotes = median(sum(map(len, answer.quotes)) for answer in answers)
    whole = median(answer.characters for answer in answers)
    told = f"{quotes:.0f} of {whole:.0f}"
    rows.append(
        Row(
            "L17",
            f"{name}: characters of the blocks, median",
            told,
            allowed=f"at most {MOST_CHARACTERS}",
            ok=whole <= MOST_CHARACTERS,
            values={"quotes": quotes, "all": whole},
        )
    )
    return rows
