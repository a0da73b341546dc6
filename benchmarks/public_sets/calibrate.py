"""The constants of `groundgraph.nodes.works.judge_evidence`: `python -m benchmarks.public_sets.calibrate FOLDER`.

Fits the logistic curve to a set with answerable and unanswerable questions, by Newton's method with a little ridge, and
tells how well the score orders them, also cross-validated. With vectors it fits both curves, without only that of the
words.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from groundgraph.core.errors import GroundGraphError
from groundgraph.core.intent import RetrievalIntent
from groundgraph.evals.corpus_base import corpus_base
from groundgraph.evals.dataset import Dataset, DatasetFiles, load_dataset
from groundgraph.evals.measures import SEED, area_under_curve, classes
from groundgraph.evals.run_queries import TOP_K
from groundgraph.evals.stored_vectors import stored_embedder
from groundgraph.nodes.works.judge_evidence import COSINE_WEIGHT, Agreement, agreement
from groundgraph.sources.knowledge_base import KnowledgeBaseSource

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from groundgraph.core.embedder import Embedder

FOLDS = 10
RIDGE = 1.0


def fitted(features: NDArray[np.float64], labels: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The slopes and, last, the start of the logistic curve that makes `labels` most likely.

    Args:
        features: an array of shape (queries, features).
        labels: which queries are answerable.
    """
    import numpy as np

    mean, spread = features.mean(axis=0), features.std(axis=0) + 1e-9
    rows = np.c_[(features - mean) / spread, np.ones(len(features))]
    ridge = np.diag([RIDGE] * features.shape[1] + [0.0])
    weights = np.zeros(rows.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (chance - labels) + ridge @ weights
        weights = weights - np.linalg.solve((rows.T * (chance * (1 - chance))) @ rows + ridge, slope)
    slopes = weights[:-1] / spread
    return np.append(slopes, weights[-1] - (slopes * mean).sum())


def cross_validated_area(features: NDArray[np.float64], labels: NDArray[np.bool_]) -> float:
    """The AUC of scores that were each fitted without the query that they are for, in ten folds."""
    import numpy as np

    order = np.random.default_rng(SEED).permutation(len(labels))
    scores = np.zeros(len(labels))
    for fold in range(FOLDS):
        held = np.zeros(len(labels), dtype=bool)
        held[order[fold::FOLDS]] = True
        curve = fitted(features[~held], labels[~held])
        scores[held] = features[held] @ curve[:-1] + curve[-1]
    return area_under_curve(list(scores[labels]), list(scores[~labels]))


async def best_agreements(dataset: Dataset, bases: Path, embedder: Embedder | None) -> list[Agreement]:
    """For each labelled query the piece of evidence that fits it best, of the best 50."""
    [corpus] = dataset.corpora
    source = KnowledgeBaseSource(await corpus_base(corpus, bases, None, embedder), embedder=embedder)
    labelled = classes(dataset.queries)
    best: list[Agreement] = []
    try:
        for query in (query for query in dataset.queries if query.id in labelled):
            found = await source.query(RetrievalIntent([query.question]), top_k=TOP_K)
            best.append(max(agreement(query.question, found), key=_strength, default=Agreement(0.0)))
    finally:
        await source.close()
    return best


def _strength(one: Agreement) -> float:
    return one.words + COSINE_WEIGHT * (one.cosine or 0.0)


async def _report(folder: Path, vectors: Path | None, bases: Path) -> list[str]:
    import numpy as np

    dataset = load_dataset(DatasetFiles(folder, qrels=None))
    labels = np.array(list(classes(dataset.queries).values()))
    lines: list[str] = []
    for embedder in (None, *([stored_embedder(vectors, dataset)] if vectors else [])):
        best = await best_agreements(dataset, bases, embedder)
        names = ("words", "cosine") if embedder else ("words",)
        features = np.array([[getattr(one, name) or 0.0 for name in names] for one in best])
        curve = fitted(features, labels)
        score = np.array([_strength(one) for one in best])
        area = area_under_curve(list(score[labels]), list(score[~labels]))
        shown = ", ".join(f"{name} {value:.2f}" for name, value in zip((*names, "start"), curve, strict=True))
        lines.append(f"{' and '.join(names)}: {shown}")
        lines.append(
            f"  AUC {area:.3f}; of the fitted curve, cross-validated {cross_validated_area(features, labels):.3f}"
        )
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the constants; 2 when the set cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.public_sets.calibrate", description=__doc__)
    parser.add_argument("folder", type=Path, help="holds corpus.jsonl and queries.jsonl with labels")
    parser.add_argument("--vectors", type=Path, help="the folder with the stored vectors")
    parser.add_argument("--bases", type=Path, default=Path(".groundgraph/evaluate"), help="where bases are kept")
    given = parser.parse_args(arguments)
    try:
        print("\n".join(asyncio.run(_report(given.folder, given.vectors, given.bases))))
    except GroundGraphError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
