"""Each stage of a cascade alone, and the cascade, on public sets: `python -m benchmarks.public_sets.cascade DATA`.

Every passage becomes a section with one fact and without keywords, so what the stage `exact` finds is nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks.public_sets.sets import LEXICAL, PUBLIC_SETS, PublicSet
from benchmarks.public_sets.table import Figure, Row
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import GroundGraphError
from groundgraph.core.intent import RetrievalIntent
from groundgraph.evals.dataset import Dataset, load_dataset
from groundgraph.evals.measures import (
    mean_interval,
    mean_intervals,
    means,
    require_ir_measures,
    retrieval_values,
    scored_queries,
)
from groundgraph.evals.report import Difference
from groundgraph.evals.stored_vectors import stored_embedder
from groundgraph.settings.search import RetrieverSettings, StageName
from groundgraph.sources.cascade import CascadeSource
from groundgraph.text.lemmatizer import configured_lemmatizer

FOLDERS = ("xquad_ru", "xquad_en")
TOP_K = 50
CASCADE = "cascade"
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


@dataclass(frozen=True)
class StagesFound:
    """Per stage, and for the cascade, nDCG@10 of each query."""

    title: str
    values: Mapping[str, Mapping[str, float]]

    @property
    def best(self) -> str:
        """The stage that is best alone."""
        return max((name for name in self.values if name != CASCADE), key=lambda name: sum(self.values[name].values()))

    def below_best(self) -> float:
        """By how much the cascade is below its best stage; negative when it is above."""
        return _mean(self.values[self.best]) - _mean(self.values[CASCADE])

    def row(self, reach: float | None) -> Row:
        """The line of the table."""
        figures = {name: _figure(values) for name, values in self.values.items()}
        best, cascade = self.values[self.best], self.values[CASCADE]
        paired = [cascade[query] - best[query] for query in cascade]
        shown = Difference(_mean(dict(enumerate(paired))), mean_interval(paired))
        low, high = shown.interval
        remark = f"cascade minus {self.best}: {shown.value:+.3f} [{low:+.3f}, {high:+.3f}] {shown.verdict}"
        return Row(self.title, "nDCG@10", figures, {CASCADE: reach} if reach is not None else {}, [remark])


def _mean(values: Mapping[Any, float]) -> float:
    return sum(values.values()) / len(values)


def _figure(values: Mapping[str, float]) -> Figure:
    one = {"": dict(values)}
    return Figure(means(one)[""], mean_intervals(one)[""], len(values))


async def measure_stages(
    wanted: PublicSet, data: Path, folder: Path, *, lemmatizer: str = "snowball", vectors: Path | None = None
) -> StagesFound:
    """nDCG@10 of each stage alone and of the cascade with its defaults on `wanted`.

    Args:
        wanted: the set.
        data: the folder that the sets are in.
        folder: where a knowledge file and its vectors are written.
        lemmatizer: `snowball` or `dictionary`.
        vectors: the folder with the stored vectors; without those of the set the semantic stage is left out.

    Raises:
        GroundGraphError: the set cannot be read or searched.
    """
    dataset = load_dataset(wanted.files(data))
    has_vectors = vectors is not None and wanted.has_vectors(vectors)
    embedder = stored_embedder(vectors, dataset) if vectors is not None and has_vectors else None
    path = knowledge_file(dataset, folder / f"{wanted.title.replace(' ', '_')}.yaml")
    plain = RetrieverSettings.model_validate({"use_embeddings": has_vectors, "lemmatizer": lemmatizer})
    alone: list[StageName] = ["lemma", "semantic"] if has_vectors else ["lemma"]
    ways: dict[str, RetrieverSettings] = {stage: plain.model_copy(update={"stages": [stage]}) for stage in alone}
    ways[CASCADE] = plain
    values = {name: await _values(dataset, path, settings, embedder) for name, settings in ways.items()}
    return StagesFound(wanted.title, values)


def knowledge_file(dataset: Dataset, path: Path) -> Path:
    """Writes the passages of `dataset` to `path`, as one category."""
    sections = {passage.id: {"facts": [passage.text]} for corpus in dataset.corpora for passage in corpus.passages}
    path.write_text(yaml.dump({"sections": sections}, Dumper=_DUMPER, allow_unicode=True), "utf-8")
    return path


async def _values(
    dataset: Dataset, path: Path, settings: RetrieverSettings, embedder: Embedder | None
) -> Mapping[str, float]:
    source = CascadeSource(
        path,
        settings=settings,
        embedder=embedder,
        lemmatizer=configured_lemmatizer(settings.lemmatizer, settings.languages, ""),
        vectors=path.with_suffix(".sqlite"),
    )
    parents = {passage.id: passage.document for corpus in dataset.corpora for passage in corpus.passages}
    counting = set(scored_queries(dataset.judged))
    found: dict[str, list[str]] = {}
    for query in dataset.queries:
        if query.id in counting:
            results = await source.query(RetrievalIntent([query.question]), top_k=TOP_K)
            ids = (parents[str(result.metadata["key"])] for result in results)
            found[query.id] = list(dict.fromkeys(ids))
    return retrieval_values(dataset.judged, found)["nDCG@10"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 0 when every set was there, 1 when one was missing, 2 when something could not be measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.public_sets.cascade", description=__doc__)
    parser.add_argument("data", type=Path, help="the folder with the public sets")
    parser.add_argument("--vectors", type=Path, help="the folder with the stored vectors; DATA/vectors by default")
    parser.add_argument("--lemmatizer", choices=("snowball", "dictionary"), default="snowball")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    given = parser.parse_args(arguments)
    wanted = [one for one in PUBLIC_SETS if one.folder in FOLDERS]
    present = [one for one in wanted if not one.missing(given.data)]
    try:
        require_ir_measures()
        rows = asyncio.run(_rows(present, given.data, given.vectors or given.data / "vectors", given.lemmatizer))
    except GroundGraphError as error:
        print(error, file=sys.stderr)
        return 2
    if given.json:
        print(json.dumps([row.to_dict() for row in rows], ensure_ascii=False, indent=1))
    else:
        print("\n".join(line for row in rows for line in row.lines()))
    return 0 if len(present) == len(wanted) else 1


async def _rows(wanted: Sequence[PublicSet], data: Path, vectors: Path, lemmatizer: str) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        measured = [
            (one, await measure_stages(one, data, Path(folder), lemmatizer=lemmatizer, vectors=vectors))
            for one in wanted
        ]
    return [found.row(one.reach.get(LEXICAL)) for one, found in measured]


if __name__ == "__main__":
    sys.exit(main())
