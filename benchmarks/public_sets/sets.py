"""The public sets, as they lie in a data folder, and the figures to reach on each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from groundgraph.evals.dataset import DatasetFiles

LEXICAL, VECTORS, HYBRID = "lexical", "vectors", "hybrid"


@dataclass(frozen=True)
class PublicSet:
    """One retrieval task.

    Attributes:
        title: names it in the table.
        folder: below the data folder.
        measures: those to show.
        reach: by way of searching, the figure to reach for the first of the measures.
        corpora: see `DatasetFiles`, as for the next three.
        queries: the questions.
        qrels: the judgements.
        turns: whether a text of several lines is a conversation.
        merge: how several sources are merged.
        rewrites: the questions as people rewrote them, which a scripted model returns; nothing is rewritten when empty.
    """

    title: str
    folder: str
    measures: tuple[str, ...]
    reach: Mapping[str, float] = field(default_factory=dict, hash=False)
    corpora: tuple[str, ...] = ("corpus.jsonl",)
    queries: str = "queries.jsonl"
    qrels: str = "qrels.tsv"
    turns: bool = False
    merge: str = "round_robin"
    rewrites: str = ""

    def files(self, data: Path) -> DatasetFiles:
        """The files of the set below `data`."""
        return DatasetFiles(data / self.folder, self.corpora, self.queries, self.qrels, self.turns)

    def missing(self, data: Path) -> list[str]:
        """The files that are not there."""
        names = (*self.corpora, self.queries, self.qrels, *([self.rewrites] if self.rewrites else []))
        return [name for name in names if not (data / self.folder / name).is_file()]

    def has_vectors(self, vectors: Path) -> bool:
        """Whether the vectors of passages and questions are in the folder `vectors`."""
        return all(
            (vectors / f"{self.folder}.{Path(name).stem}.npy").is_file() for name in (*self.corpora, self.searched_for)
        )

    @property
    def searched_for(self) -> str:
        """The file with the texts that are searched for in the end."""
        return self.rewrites or self.queries


_SENTENCES = ("corpus_sentences.jsonl",)
_BY_SENTENCE = "qrels_sentences.tsv"
_TABLES, _PARAGRAPHS = "corpus_tables.jsonl", "corpus_paragraphs.jsonl"
_TURN_MEASURES = ("nDCG@5", "R@5")

CLAPNQ = PublicSet("clapnq", "clapnq", ("nDCG@10",), {LEXICAL: 0.950, HYBRID: 0.988})
XQUAD_EN = PublicSet(
    "xquad_en sentences",
    "xquad_en",
    ("nDCG@10", "R@5"),
    {LEXICAL: 0.840, HYBRID: 0.867},
    corpora=_SENTENCES,
    qrels=_BY_SENTENCE,
)
XQUAD_EN_PARAGRAPHS = PublicSet("xquad_en paragraphs", "xquad_en", ("nDCG@10",))
LAST_TURN = PublicSet("mtrag_pool last turn", "mtrag_pool", _TURN_MEASURES, queries="queries_lastturn.jsonl")
REWRITE = PublicSet("mtrag_pool rewrite", "mtrag_pool", _TURN_MEASURES, queries="queries_rewrite.jsonl")
CONVERSATION = PublicSet(
    "mtrag_pool conversation", "mtrag_pool", _TURN_MEASURES, queries="queries_questions.jsonl", turns=True
)
REWRITTEN = PublicSet(
    "mtrag_pool conversation, rewritten by the graph",
    "mtrag_pool",
    _TURN_MEASURES,
    queries="queries_questions.jsonl",
    turns=True,
    rewrites="queries_rewrite.jsonl",
)
TABLES = PublicSet("tatqa tables alone", "tatqa", ("nDCG@10",), corpora=(_TABLES,))
PARAGRAPHS = PublicSet("tatqa paragraphs alone", "tatqa", ("nDCG@10",), corpora=(_PARAGRAPHS,))
TWO_SOURCES = PublicSet(
    "tatqa two sources",
    "tatqa",
    ("nDCG@10",),
    {LEXICAL: 0.65},
    corpora=(_TABLES, _PARAGRAPHS),
    merge="relative_score",
)

PUBLIC_SETS = (
    CLAPNQ,
    XQUAD_EN,
    XQUAD_EN_PARAGRAPHS,
    PublicSet("xquad_ru sentences", "xquad_ru", ("nDCG@10",), {LEXICAL: 0.812}, corpora=_SENTENCES, qrels=_BY_SENTENCE),
    PublicSet("xquad_ru paragraphs", "xquad_ru", ("nDCG@10",), {LEXICAL: 0.953}),
    LAST_TURN,
    REWRITE,
    CONVERSATION,
    REWRITTEN,
    TABLES,
    PARAGRAPHS,
    TWO_SOURCES,
    PublicSet("wtq tables", "wtq", ("R@5", "nDCG@10"), {LEXICAL: 0.60}, corpora=(_TABLES,)),
    PublicSet("rfc6749_qa", "rfc6749_qa", ("nDCG@10",)),
)

# Two ways to do one thing that are compared over the same questions: what must not be worse comes first.
PAIRS = ((CONVERSATION, LAST_TURN), (REWRITTEN, REWRITE), (TWO_SOURCES, TABLES), (TWO_SOURCES, PARAGRAPHS))
