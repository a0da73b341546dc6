"""L18: public questions over the passages of another set, which hold no answer, and over their own, which do."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.effort import QUICK, Effort
from benchmarks.report import Row
from groundgraph import load_settings, turn_graph
from groundgraph.evals.corpus_base import corpus_base
from groundgraph.evals.dataset import Dataset, DatasetFiles, load_dataset
from groundgraph.evals.run_conversations import has_doubt
from groundgraph.sources.knowledge_base.source import KnowledgeBaseSource

# Which questions are asked over whose passages: another set's on the left of the same on the right.
STRANGE = (("clapnq", "xquad_en"), ("xquad_en", "clapnq"), ("clapnq", "rfc6749_qa"), ("xquad_en", "rfc6749_qa"))
OWN = ("xquad_en", "xquad_ru")
LEAST_INSUFFICIENT, MOST_CERTAIN, MOST_REFUSED = 0.80, 0.03, 0.04
_QUICK_QUESTIONS = 40


@dataclass(frozen=True)
class Ended:
    """How one question ended: `first` is the passage that the answer shows first, None when it shows none."""

    query: str
    outcome: str
    doubt: bool
    first: str | None


def run(effort: Effort) -> list[Row]:
    folder = Path(os.environ.get("GROUNDGRAPH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
    names = {name for pair in STRANGE for name in pair} | set(OWN)
    if not all((folder / name).is_dir() for name in names):
        return [Row("L18", "outcomes", "not measured: set GROUNDGRAPH_DATA to the public data", allowed="see text")]
    sets = {name: load_dataset(DatasetFiles(folder / name)) for name in names}
    most = _QUICK_QUESTIONS if effort is QUICK else None
    rows = []
    for asked, held in STRANGE:
        rows += _strange(f"{asked} asked of {held}", asyncio.run(_ends(sets[asked], sets[held], most)))
    for name in OWN:
        rows += _own(sets[name], asyncio.run(_ends(sets[name], sets[name], most)))
    return rows


async def _ends(asked: Dataset, held: Dataset, most: int | None) -> list[Ended]:
    with tempfile.TemporaryDirectory() as made:
        base = await corpus_base(held.corpora[0], Path(made))
        graph = turn_graph(load_settings({}), sources=[KnowledgeBaseSource(base)])
        ends = []
        for query in asked.queries[:most]:
            output = await graph.ainvoke({"messages": query.question})
            first = output["citations"][0]["source_id"].rpartition("#")[0] if output["citations"] else None
            doubt = has_doubt(output, graph.resources.prompts)
            ends.append(Ended(query.id, output["outcome"], doubt, first))
        return ends


def _share(ends: Sequence[Ended], outcome: str, *, doubt: bool | None = None) -> float:
    counting = [one for one in ends if one.outcome == outcome and doubt in (None, one.doubt)]
    return len(counting) / len(ends)


def _strange(name: str, ends: list[Ended]) -> list[Row]:
    insufficient, certain = _share(ends, "insufficient"), _share(ends, "answered", doubt=False)
    values = {"questions": len(ends), "insufficient": insufficient, "certain": certain}
    return [
        Row(
            "L18",
            f"{name}: insufficient",
            f"{insufficient:.3f}",
            allowed=f"at least {LEAST_INSUFFICIENT}",
            ok=insufficient >= LEAST_INSUFFICIENT,
            values=values,
        ),
        Row(
            "L18",
            f"{name}: answered without a doubt",
            f"{certain:.3f}",
            allowed=f"at most {MOST_CERTAIN}",
            ok=certain <= MOST_CERTAIN,
        ),
    ]


def _own(dataset: Dataset, ends: list[Ended]) -> list[Row]:
    refused = [one for one in ends if one.outcome == "insufficient"]
    shown = sum(dataset.judged.get(one.query, {}).get(one.first or "", 0) > 0 for one in refused)
    share, doubtful = len(refused) / len(ends), _share(ends, "answered", doubt=True)
    values = {"questions": len(ends), "insufficient": share, "shown": shown, "doubtful": doubtful}
    return [
        Row(
            "L18",
            f"{dataset.name}: insufficient, though answerable",
            f"{share:.3f}",
            allowed=f"at most {MOST_REFUSED}",
            ok=share <= MOST_REFUSED,
            values=values,
        ),
        Row(
            "L18",
            f"{dataset.name}: of those, with the right passage first",
            f"{shown} of {len(refused)}",
            allowed="all",
            ok=shown == len(refused),
        ),
        Row("L18", f"{dataset.name}: answered with a doubt, though answerable", f"{doubtful:.3f}"),
    ]
