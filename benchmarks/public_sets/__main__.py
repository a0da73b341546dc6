"""`python -m benchmarks.public_sets DATA_FOLDER`: the figures on all public sets, with intervals, in one table."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.public_sets.search_ways import LANGUAGES, Searched, search_set
from benchmarks.public_sets.sets import CLAPNQ, PAIRS, PUBLIC_SETS, REWRITE, XQUAD_EN_PARAGRAPHS, PublicSet
from benchmarks.public_sets.table import (
    Row,
    citation_rows,
    pair_row,
    refusal_rows,
    retrieval_rows,
    threshold_row,
)
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import GroundGraphError
from groundgraph.evals.measures import require_ir_measures
from groundgraph.graph.configured_models import configured_embedder
from groundgraph.settings.load_settings import load_settings

LEGEND = (
    "In brackets: 95 % percentile bootstrap over the queries, 2 000 resamples; differences are paired. A difference "
    "whose interval covers 0 is no difference shown."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 0 when every set was there, 1 when one was missing, 2 when something could not be measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.public_sets", description=__doc__)
    parser.add_argument("data", type=Path, help="the folder with the public sets")
    parser.add_argument("--vectors", type=Path, help="the folder with the stored vectors; DATA/vectors by default")
    parser.add_argument("--embedding-folder", type=Path, help="an embedding model in place of the stored vectors")
    parser.add_argument("--bases", type=Path, default=Path(".groundgraph/evaluate"), help="where bases are kept")
    parser.add_argument("--only", action="append", metavar="FOLDER", help="this set only; may be repeated")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    given = parser.parse_args(arguments)
    try:
        require_ir_measures()
        wanted = [one for one in PUBLIC_SETS if not given.only or one.folder in given.only]
        vectors = _embedder(given.embedding_folder) or given.vectors or given.data / "vectors"
        searched, missing = asyncio.run(_search(wanted, given.data, vectors, given.bases))
        rows = _rows(searched)
    except GroundGraphError as error:
        print(error, file=sys.stderr)
        return 2
    if given.json:
        print(json.dumps({"rows": [row.to_dict() for row in rows], "missing": missing}, ensure_ascii=False, indent=1))
    else:
        print("\n".join([*(line for row in rows for line in row.lines()), *missing, LEGEND]))
    return 1 if missing else 0


async def _search(
    wanted: Sequence[PublicSet], data: Path, vectors: Path | Embedder, bases: Path
) -> tuple[dict[PublicSet, Searched], list[str]]:
    searched: dict[PublicSet, Searched] = {}
    missing: list[str] = []
    for one in wanted:
        if absent := one.missing(data):
            missing.append(f"{one.title}: missing {', '.join(absent)} in {data / one.folder}")
            continue
        if isinstance(vectors, Path) and not one.has_vectors(vectors):
            _tell(f"{one.title}: no vectors in {vectors}, words only")
        searched[one] = await search_set(one, data, vectors, bases, _tell)
    return searched, missing


def _embedder(folder: Path | None) -> Embedder | None:
    """The English model in `folder`, through the product's own class."""
    if folder is None:
        return None
    section = {"provider": "fastembed", "model": folder.name, "folder": str(folder.resolve()), "languages": LANGUAGES}
    return configured_embedder(load_settings({"embeddings": section}))


def _tell(text: str) -> None:
    print(text, file=sys.stderr)


def _rows(searched: dict[PublicSet, Searched]) -> list[Row]:
    rows = [row for one, found in searched.items() for row in retrieval_rows(one, found)]
    rows += [
        pair_row((first, searched[first]), (second, searched[second]))
        for first, second in PAIRS
        if first in searched and second in searched
    ]
    rows += [threshold_row(one, searched[one]) for one in (CLAPNQ, XQUAD_EN_PARAGRAPHS, REWRITE) if one in searched]
    if CLAPNQ in searched:
        rows += refusal_rows(CLAPNQ, searched[CLAPNQ])
        rows += citation_rows(CLAPNQ.title, searched[CLAPNQ])
    return rows


if __name__ == "__main__":
    sys.exit(main())
