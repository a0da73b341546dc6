"""One set searched in every way that can be told apart: by words, by vectors, by both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.public_sets.given_rewrites import given_rewrites, with_rewriting
from benchmarks.public_sets.sets import HYBRID, LEXICAL, VECTORS, PublicSet
from benchmarks.public_sets.strangers import strangers
from groundgraph.core.embedder import Embedder
from groundgraph.evals.corpus_base import corpus_base
from groundgraph.evals.dataset import Dataset, Query, load_dataset
from groundgraph.evals.run_queries import Answered, evaluation_settings, run_queries
from groundgraph.evals.stored_vectors import stored_embedder
from groundgraph.settings.load_settings import load_settings
from groundgraph.settings.settings import Settings

# Languages of the model whose vectors are stored.
LANGUAGES = ("en",)
_WEIGHT = {LEXICAL: 0.5, VECTORS: 1.0, HYBRID: 0.5}

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Searched:
    """A set, and per way of searching what each of its queries found.

    `strangers` are the queries whose nearest passage shares no word with them; see `strangers`.
    """

    dataset: Dataset
    found: Mapping[str, Sequence[Answered]]
    strangers: frozenset[str] = frozenset()


async def search_set(
    wanted: PublicSet, data: Path, vectors: Path | Embedder, bases: Path, tell: Tell, *, each: int = 1
) -> Searched:
    """`wanted` searched in the ways that its vectors allow.

    Args:
        wanted: the set.
        data: the folder that the sets are in.
        vectors: the folder with the stored vectors, or the model that makes them.
        bases: where knowledge bases are kept from one run to the next.
        tell: told what is being done.
        each: one in so many of its queries is asked.

    Raises:
        GroundGraphError: the set cannot be read or searched.
    """
    dataset = load_dataset(wanted.files(data))
    said = _rewritten(wanted, data) if wanted.rewrites else dataset
    model = given_rewrites(dataset, said) if wanted.rewrites else None
    embedder = vectors if isinstance(vectors, Embedder) else _stored(wanted, vectors, said)
    paths = {corpus.name: await corpus_base(corpus, bases, None, embedder) for corpus in dataset.corpora}
    found: dict[str, list[Answered]] = {}
    for way in (LEXICAL, VECTORS, HYBRID) if embedder else (LEXICAL,):
        tell(f"{wanted.title}: {way}")
        settings = evaluation_settings(_settings(wanted, way), paths, as_configured=False)
        used = None if way == LEXICAL else embedder
        asked = _counting(dataset)[::each]
        found[way] = await run_queries(settings, dataset.corpora, asked, None, used, chat_model=model)
    is_stored = embedder is not None and embedder is not vectors
    return Searched(dataset, found, strangers(said, embedder) if embedder and is_stored else frozenset())


def _stored(wanted: PublicSet, vectors: Path, said: Dataset) -> Embedder | None:
    return stored_embedder(vectors, said, languages=LANGUAGES) if wanted.has_vectors(vectors) else None


def _rewritten(wanted: PublicSet, data: Path) -> Dataset:
    return load_dataset(replace(wanted, queries=wanted.rewrites, turns=False).files(data))


def _settings(wanted: PublicSet, way: str) -> Settings:
    plain = load_settings({"retrieval": {"merge": wanted.merge}, "knowledge_base": {"vector_weight": _WEIGHT[way]}})
    # A follow-up of any length: what a rewrite is worth is measured, not when one is asked for.
    return with_rewriting(plain, min_words=1) if wanted.rewrites else plain


def _counting(dataset: Dataset) -> list[Query]:
    """The queries that a measure can use: those with a relevant passage, and those known to have none."""
    relevant = {query for query, gains in dataset.judged.items() if any(gain > 0 for gain in gains.values())}
    return [query for query in dataset.queries if query.id in relevant or query.label == "UNANSWERABLE"]
