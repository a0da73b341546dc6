"""A source over records that Python holds, searched by words."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from groundgraph.core.errors import ConfigurationError, Problem, refuse_any
from groundgraph.core.evidence import SourceResult, changed
from groundgraph.core.filters import matches, with_times
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.schema import SourceSchema
from groundgraph.search.rank import COMMON_PLACE, Passage, Pool, rank
from groundgraph.sources.check_options import declared_fields, unknown_names
from groundgraph.sources.contract import NamedSource, SourceOptions
from groundgraph.text.follow_up import question_weight
from groundgraph.text.words import bm25, idf, query_stems, stems

Record = str | Mapping[str, Any] | SourceResult


class InMemorySource(NamedSource):
    """Records in memory, found by the stems of their content, title and section.

    The order is BM25's, by the weight of the question; the relevance is the plain share of the question's stems that a
    record holds. Weighting them by idf, as the knowledge base does, would say little about a handful of records.

    Args:
        records: texts, mappings with `content` (or `text`) and any metadata, or finished results.
        name: the name of the source.
        schema: the fields that filters may name; each is looked up in a record's metadata.

    Raises:
        ConfigurationError: `records` is one text, one of them is neither of the three, or a mapping has neither
            `content` nor `text`; or `schema` is no `SourceSchema`.
    """

    def __init__(
        self,
        records: Iterable[Record] = (),
        *,
        name: str = "memory",
        schema: SourceSchema | None = None,
        source_type: str = "memory",
    ) -> None:
        self._name = name
        self._source_type = source_type
        self._schema = schema
        _check_given(name, records, schema)
        self._results = [self._to_result(number, record) for number, record in enumerate(records)]
        counts = [Counter(stems(_searched_text(result))) for result in self._results]
        lengths = [sum(count.values()) for count in counts]
        average = sum(lengths) / len(lengths) if lengths else 0.0
        # For each stem, the records that hold it, each with what that adds to its BM25 score.
        self._postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        self._stems = [frozenset(count) for count in counts]
        for number, count in enumerate(counts):
            for stem, frequency in count.items():
                self._postings[stem].append((number, bm25(frequency, lengths[number], average)))
        for stem, postings in self._postings.items():
            weight = idf(len(self._results), len(postings))
            self._postings[stem] = [(number, weight * part) for number, part in postings]

    async def metadata_fields(self) -> set[str]:
        """Every metadata name that a record has."""
        return {name for result in self._results for name in result.metadata}

    async def query(
        self, intent: RetrievalIntent, *, top_k: int = 5, score_threshold: float = 0.0
    ) -> list[SourceResult]:
        """See `GroundedSource.query`; a record found by several text queries keeps its best relevance."""
        filters = with_times(self._schema, intent.filters.get(self.name, {}))
        found: dict[tuple[str, str], SourceResult] = {}
        for text in intent.text_queries:
            for result in self._search(text, filters, top_k, score_threshold):
                known = found.get(result.passage)
                if known is None or known.relevance < result.relevance:
                    found[result.passage] = result
        return list(found.values())

    def _search(self, text: str, filters: Mapping[str, Any], top_k: int, score_threshold: float) -> list[SourceResult]:
        asked = query_stems(text)
        whole = question_weight(
            asked, {stem: len(self._postings[stem]) for stem in asked if stem in self._postings}, len(self._stems)
        )
        scores = self._scores(asked)
        near: list[Passage] = []
        kept = 0
        for number in sorted(scores, key=scores.__getitem__, reverse=True):
            score = scores[number]
            if kept >= top_k and len(near) >= COMMON_PLACE and score / whole < near[-1].lexical:
                # Most records hold a word of the question: what scores less than all that are wanted is passed over.
                break
            if not filters or matches(filters, self._results[number].metadata):
                share = len(self._stems[number].intersection(asked)) / len(asked)
                near.append(Passage(number, score / whole, share))
                kept += share >= score_threshold
        found = rank([Pool(near)], threshold=score_threshold, top_k=top_k)
        return [
            changed(self._results[one.key], relevance=one.relevance, score=one.score, scores=one.scores)
            for one in found
        ]

    def _scores(self, asked: Collection[str]) -> dict[int, float]:
        """By record, what the stems that are `asked` give it."""
        scores: dict[int, float] = {}
        for stem in asked:
            for number, part in self._postings.get(stem, ()):
                scores[number] = scores.get(number, 0.0) + part
        return scores

    def _to_result(self, number: int, record: Any) -> SourceResult:
        if isinstance(record, SourceResult):
            return record
        if isinstance(record, str):
            record = {"content": record}
        if not isinstance(record, Mapping):
            told = f"a record is a text, a mapping or a SourceResult, not a value of type {type(record).__name__}"
            raise ConfigurationError([Problem(f"{self._name}.records[{number}]", told)])
        content = record.get("content", record.get("text"))
        if content is None:
            raise ConfigurationError(
                [Problem(f"{self._name}.records[{number}]", "a record needs 'content' (or 'text')")]
            )
        metadata = {key: value for key, value in record.items() if key not in ("content", "text", "id", "metadata")}
        return SourceResult(
            content=str(content),
            source_id=str(record.get("id", number)),
            source_name=self._name,
            source_type=self._source_type,
            metadata={**metadata, **record.get("metadata", {})},
        )


def _searched_text(result: SourceResult) -> str:
    named = (str(result.metadata.get(name) or "") for name in ("title", "section"))
    return "\n".join((*named, result.content))


def _check_given(name: str, records: Any, schema: Any) -> None:
    """Refuse what a type checker would have: nobody has to run one."""
    if not isinstance(name, str) or not name.strip():
        raise ConfigurationError([Problem("name", "a source has a name, by which citations and filters refer to it")])
    if isinstance(records, str | Mapping) or not isinstance(records, Iterable):
        told = f"records are a list of texts or mappings, and this is a value of type {type(records).__name__}"
        raise ConfigurationError([Problem(f"{name}.records", told)])
    if schema is not None and not isinstance(schema, SourceSchema):
        told = f"a schema is a SourceSchema, and this is a value of type {type(schema).__name__}"
        raise ConfigurationError([Problem(f"{name}.schema", told)])


_OPTIONS = ("records", "schema", "description")


def memory_from_options(entry: SourceOptions) -> InMemorySource:
    """`type: memory` with `records:`, a list of texts or mappings, and optionally `schema: {fields: {...}}`."""
    refuse_any(unknown_names(entry.options, _OPTIONS, entry.key, "a memory source has no option '{name}'"))
    schema = entry.options.get("schema")
    fields, required = declared_fields(schema or None, f"{entry.key}.schema")
    described = str(entry.options.get("description", ""))
    return InMemorySource(
        entry.options.get("records") or (),
        name=entry.name,
        schema=SourceSchema(entry.name, fields, required, described) if schema else None,
    )
