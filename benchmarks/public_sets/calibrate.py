"""The curves of `groundgraph.answers.agreement`: `python -m benchmarks.public_sets.calibrate FOLDER`.

Fits a logistic curve, by Newton's method with a little ridge, to questions whose passage is in the base (as many by
weight as the others), the same with the passage taken away, and those of the other sets. Each set's figures come from a
curve that was fitted without it; xquad_ru is in none. The baseline is plain BM25 of the best passage per query term.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from benchmarks.public_sets.sets import CLAPNQ, PUBLIC_SETS, REWRITE, XQUAD_EN, XQUAD_EN_PARAGRAPHS
from groundgraph.answers.agreement import Agreement, agreement
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import GroundGraphError
from groundgraph.core.evidence import SourceResult
from groundgraph.core.intent import RetrievalIntent
from groundgraph.evals.corpus_base import corpus_base
from groundgraph.evals.dataset import Dataset, load_dataset
from groundgraph.evals.measures import area_under_curve
from groundgraph.evals.stored_vectors import StoredVectors, stored_embedder
from groundgraph.settings.search import RetrievalSettings
from groundgraph.sources.knowledge_base import KnowledgeBaseSource
from groundgraph.text.words import bm25, idf, query_stems, stems

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RIDGE = 1.0
TOP_K = 5
OWN, TAKEN, OTHERS, UNANSWERABLE = "answerable", "passage taken away", "of other sets", "unanswerable"
CHECK = next(one for one in PUBLIC_SETS if one.folder == "xquad_ru" and one.qrels == "qrels.tsv")


@dataclass(frozen=True)
class Judged:
    """One question over one base: of which kind it is, the best piece of evidence, and the baseline's score."""

    kind: str
    best: Agreement
    plain: float


def fitted(
    features: NDArray[np.float64], labels: NDArray[np.bool_], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The slopes and, last, the start of the logistic curve that makes `labels` most likely.

    Args:
        features: an array of shape (queries, features).
        labels: which queries are answerable.
        weights: how much each query counts.
    """
    import numpy as np

    mean, spread = features.mean(axis=0), features.std(axis=0) + 1e-9
    rows = np.c_[(features - mean) / spread, np.ones(len(features))]
    ridge = np.diag([RIDGE] * features.shape[1] + [0.0])
    curve = np.zeros(rows.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-rows @ curve))
        slope = rows.T @ (weights * (chance - labels)) + ridge @ curve
        curve = curve - np.linalg.solve((rows.T * (weights * chance * (1 - chance))) @ rows + ridge, slope)
    slopes = curve[:-1] / spread
    return cast("NDArray[np.float64]", np.append(slopes, curve[-1] - (slopes * mean).sum()))


class _Plain:
    """Okapi BM25 over the passages of a set."""

    def __init__(self, dataset: Dataset) -> None:
        self.counts = {one.id: Counter(stems(one.text)) for one in dataset.corpora[0].passages}
        self.average = sum(one.total() for one in self.counts.values()) / len(self.counts)
        self.df = Counter(stem for one in self.counts.values() for stem in one)

    def best(self, question: str, without: Mapping[str, int]) -> float:
        """The score of the best passage that is not one of `without`, per query term."""
        asked = query_stems(question)
        weights = {stem: idf(len(self.counts), self.df[stem]) for stem in asked}
        scores = (
            sum(weights[stem] * bm25(one[stem], one.total(), self.average) for stem in asked if stem in one)
            for name, one in self.counts.items()
            if not without.get(name)
        )
        return max(scores, default=0.0) / max(1, len(asked))


async def judged(dataset: Dataset, others: Sequence[Dataset], bases: Path, embedder: Embedder | None) -> list[Judged]:
    """Every question over the passages of `dataset`: its own, with and without their passages, and those of others."""
    base = await corpus_base(dataset.corpora[0], bases, None, embedder)
    source, plain = KnowledgeBaseSource(base, embedder=embedder), _Plain(dataset)
    found: list[Judged] = []

    async def ask(kind: str, question: str, without: Mapping[str, int]) -> None:
        results = await source.query(RetrievalIntent([question]), top_k=TOP_K + len(without))
        left = [one for one in results if not without.get(one.source_id.rpartition("#")[0])][:TOP_K]
        found.append(Judged(kind, _best(question, left), plain.best(question, without)))

    try:
        for query in dataset.queries:
            right = dataset.judged.get(query.id, {})
            await ask(OWN if right else UNANSWERABLE, query.question, {})
            if right:
                await ask(TAKEN, query.question, right)
        for query in (query for other in others for query in other.queries):
            await ask(OTHERS, query.question, {})
    finally:
        await source.close()
    return found


def _best(question: str, results: Sequence[SourceResult]) -> Agreement:
    return max(agreement(question, results), key=lambda one: one.probability, default=Agreement(0.0))


def _features(found: Sequence[Judged]) -> NDArray[np.float64]:
    import numpy as np

    by_both = any(one.best.cosine is not None for one in found)
    return np.array([[one.best.words, *([one.best.cosine or 0.0] if by_both else [])] for one in found])


def _curve(sets: Sequence[Sequence[Judged]]) -> NDArray[np.float64]:
    """The curve of several sets together, each kind of question with the same weight in each."""
    import numpy as np

    counting = [[one for one in found if one.kind != UNANSWERABLE] for found in sets]
    weights = []
    for found in counting:
        counts = Counter(one.kind for one in found)
        weights += [100 / counts[one.kind] / (1 if one.kind == OWN else len(counts) - 1) for one in found]
    labels = np.array([one.kind == OWN for found in counting for one in found])
    return fitted(np.concatenate([_features(found) for found in counting]), labels, np.array(weights))


def _lines(name: str, found: Sequence[Judged], curve: NDArray[np.float64]) -> list[str]:
    """What `curve` is worth on a set: the AUC, and what the default thresholds make of each kind of question."""
    import numpy as np

    defaults = RetrievalSettings()
    least, sure = defaults.least_chance(read=False), defaults.doubt_threshold
    chances = 1 / (1 + np.exp(-(_features(found) @ curve[:-1] + curve[-1])))
    by_kind: dict[str, list[tuple[float, float]]] = {}
    for one, chance in zip(found, chances, strict=True):
        by_kind.setdefault(one.kind, []).append((float(chance), one.plain))
    own, own_plain = zip(*by_kind[OWN], strict=True)
    lines = []
    for kind, pairs in by_kind.items():
        scores, plain = zip(*pairs, strict=True)
        line = f"{name}, {kind} ({len(pairs)}): insufficient {np.mean(np.array(scores) < least):.3f}, "
        line += f"without a doubt {np.mean(np.array(scores) >= sure):.3f}"
        if kind != OWN:
            area, baseline = area_under_curve(own, scores), area_under_curve(own_plain, plain)
            line += f"; AUC {area:.3f}, BM25 per query term {baseline:.3f}"
        lines.append(line)
    return lines


async def _report(data: Path, vectors: Path | None, bases: Path) -> list[str]:
    # The paragraphs of xquad_en have no vectors.
    wanted = [CLAPNQ, XQUAD_EN, REWRITE, *([] if vectors else [XQUAD_EN_PARAGRAPHS])]
    sets = {one: load_dataset(one.files(data)) for one in wanted}
    embedder = _embedder(vectors, list(sets.values())) if vectors else None
    found = []
    for one in wanted:
        others = {other.folder: sets[other] for other in wanted if other.folder != one.folder}
        found.append(await judged(sets[one], list(others.values()), bases, embedder))
    curve = _curve(found)
    shown = ", ".join(f"{value:.2f}" for value in curve)
    lines = [f"slope of the words{' and of the cosine' if vectors else ''}, start: {shown}"]
    for place, one in enumerate(wanted):
        fitted_to = [seen for other, seen in zip(wanted, found, strict=True) if other.folder != one.folder]
        lines += _lines(one.title, found[place], _curve(fitted_to))
    if not vectors:
        russian = await judged(load_dataset(CHECK.files(data)), [], bases, None)
        lines += _lines(CHECK.title, russian, curve)
    return lines


def _embedder(vectors: Path, sets: Sequence[Dataset]) -> Embedder:
    """One model that knows the texts of all `sets`."""
    models = [cast("StoredVectors", stored_embedder(vectors, one).model) for one in sets]
    return Embedder(StoredVectors({text: row for one in models for text, row in one.vectors.items()}), "stored")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the constants; 2 when a set cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.public_sets.calibrate", description=__doc__)
    parser.add_argument("data", type=Path, help="the folder with the public sets")
    parser.add_argument("--vectors", type=Path, help="the folder with the stored vectors")
    parser.add_argument("--bases", type=Path, default=Path(".groundgraph/evaluate"), help="where bases are kept")
    given = parser.parse_args(arguments)
    try:
        print("\n".join(asyncio.run(_report(given.data, given.vectors, given.bases))))
    except GroundGraphError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
