"""The source over YAML knowledge files."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from groundgraph.core.errors import ConfigurationError, KnowledgeFileInvalid, Problem, SourceUnavailable, refuse_any
from groundgraph.core.evidence import SourceResult
from groundgraph.core.failure import degraded, degraded_by
from groundgraph.core.filters import check_filters
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.schema import SourceSchema
from groundgraph.resilience.blocking import run_blocking
from groundgraph.search.rank import query_vector, take_turns, wants_vector
from groundgraph.settings.load_settings import message_of
from groundgraph.settings.search import RetrieverSettings, StageName
from groundgraph.sources.cascade.knowledge import Knowledge, KnowledgeFiles, told_to_readers
from groundgraph.sources.cascade.order import (
    SOURCE_TYPE,
    SearchReport,
    SearchResult,
    StageReport,
    ordered,
    threshold_of,
)
from groundgraph.sources.cascade.read_file import METADATA_FIELDS
from groundgraph.sources.cascade.search import Search, SectionIndex
from groundgraph.sources.check_options import unknown_names
from groundgraph.sources.contract import NamedSource, SourceOptions
from groundgraph.text.lemmatizer import Lemmatizer, SnowballLemmatizer, configured_lemmatizer

if TYPE_CHECKING:
    from groundgraph.core.embedder import Embedder
    from groundgraph.sources.cascade.section_vectors import SectionVectors


_LOG = logging.getLogger("groundgraph")

DEFAULT_VECTORS = Path(".groundgraph/cascade_vectors.sqlite")
_FIELDS: dict[str, dict[str, Any]] = {
    "category": {"type": "string", "description": "The name of the category."},
    "key": {"type": "string", "description": "The key of the section within its category."},
    "priority": {"type": "integer", "description": "How much the section matters; the higher the more."},
}


class CascadeSource(NamedSource):
    """Sections of YAML files by category, found in stages: `exact`, `lemma`, and with an embedding model `semantic`.

    Files are read by the first question, those of a configuration when it is used, and again when they change;
    docs/cascade.md describes them.

    Args:
        path: a folder with those below it, a file, or several of both.
        name: the name of the source.
        embedder: the model of the semantic stage, which does not run without one.
        settings: the stages, their thresholds and their order.
        lemmatizer: of the lemma stage; Snowball stems when not given.
        vectors: the file that keeps the vectors of sections.
        description: what the source holds, in a sentence.

    Attributes:
        enforced: checked filters that hold beside those of every call: of one field both, so that none widens another.
    """

    _source_type = SOURCE_TYPE

    def __init__(
        self,
        path: str | Path | Sequence[str | Path],
        *,
        name: str = "cascade",
        embedder: Embedder | None = None,
        settings: RetrieverSettings | None = None,
        lemmatizer: Lemmatizer | None = None,
        vectors: str | Path = DEFAULT_VECTORS,
        description: str = "",
    ) -> None:
        paths = [path] if isinstance(path, str | Path) else list(path)
        self._name = name
        self._schema = SourceSchema(name, _FIELDS, description=description)
        self._files = KnowledgeFiles([Path(one) for one in paths])
        self.settings = settings or RetrieverSettings()
        self.enforced: Mapping[str, Any] = {}
        self._lemmatizer = lemmatizer or SnowballLemmatizer()
        self._embedder = embedder if "semantic" in self.settings.stages else None
        self._vectors_file = Path(vectors)
        self._section_vectors: SectionVectors | None = None
        self._index: SectionIndex | None = None
        self._guard = threading.Lock()

    async def metadata_fields(self) -> set[str]:
        """What results tell beside the content."""
        return set(METADATA_FIELDS)

    def read_files(self) -> None:
        """Read the files now, where the first question would.

        Raises:
            SourceUnavailable, KnowledgeFileInvalid: as for `run`.
        """
        self._files.current()

    async def categories(self, filters: Mapping[str, Any] | None = None) -> dict[str, str]:
        """The categories that have a section that may be shown and satisfies `filters`, in the order of the files, each
        with its description or, without one, its title.

        Raises:
            SourceUnavailable, KnowledgeFileInvalid: as for `run`.
            FilterInvalid: as for `query`.
        """
        checked = check_filters(self._schema, filters or {}, source=self._name)
        index = await run_blocking(self._current)
        allowed = await run_blocking(index.allowed, None, self.enforced, checked)
        left = {index.knowledge.sections[number].category for number in allowed}
        return {name: category.told for name, category in index.knowledge.categories.items() if name in left}

    async def counts(self) -> dict[str, int]:
        """How many files (`documents`) and sections that may be shown (`chunks`) there are.

        Raises:
            SourceUnavailable, KnowledgeFileInvalid: as for `run`.
        """
        index = await run_blocking(self._current)
        return {"documents": index.knowledge.files, "chunks": len(index.knowledge.sections)}

    async def query(
        self, intent: RetrievalIntent, *, top_k: int = 5, score_threshold: float = 0.0
    ) -> list[SourceResult]:
        """See `GroundedSource.query`; several text queries take turns.

        `intent.categories` limits the search; of categories that do not exist, see docs/cascade.md. Without text
        queries the sections of those categories come, by priority. A stage that could not run, and files that are
        broken since they were last read, are told through `groundgraph.core.failure`.

        Raises:
            SourceUnavailable: there are no knowledge files, or one is wrong and no earlier state of them is known. What
                is wrong is logged: the message of a source reaches readers.
            FilterInvalid: a filter names a field that is not declared.
        """
        filters = check_filters(self._schema, intent.filters.get(self._name, {}), source=self._name)
        try:
            return await self._found(intent, filters, top_k, score_threshold)
        except KnowledgeFileInvalid as error:
            _LOG.warning("Knowledge files are wrong:\n%s", error)
            raise SourceUnavailable(f"The knowledge cannot be read: {told_to_readers(error.problems)}.") from error

    async def _found(
        self, intent: RetrievalIntent, filters: Mapping[str, Any], top_k: int, score_threshold: float
    ) -> list[SourceResult]:
        if top_k < 1:
            return []
        if not intent.text_queries:
            return await self._by_category(intent.categories, filters, top_k)
        lists: list[list[SourceResult]] = []
        for text in intent.text_queries:
            found, _ = await self.run(text, intent.categories, filters)
            kept = (result for result in found if result.relevance >= score_threshold)
            lists.append([result.to_source_result(self._name) for result, _ in zip(kept, range(top_k), strict=False)])
        return take_turns(lists)

    async def run(
        self, text: str, categories: Sequence[str] = (), filters: Mapping[str, Any] | None = None
    ) -> tuple[list[SearchResult], SearchReport]:
        """Everything that reaches the threshold of a stage, the best first, and how each stage went.

        Args:
            text: the question.
            categories: names of categories, in any case; see docs/cascade.md for those that do not exist.
            filters: conditions that `check_filters` has checked.

        Raises:
            SourceUnavailable: there are no knowledge files.
            KnowledgeFileInvalid: a file is wrong, and no earlier state of it is known.
        """
        started = time.perf_counter()
        index = await run_blocking(self._current)
        known, unknown = _known(index.knowledge, categories)
        if unknown:
            self._tell_unknown(unknown, known)
        search, report = await run_blocking(self._prepared, index, text, known or None, filters or {}, unknown)
        await self._run_stages(search, report, text, index)
        results = await run_blocking(ordered, search)
        report.elapsed_ms = _milliseconds(started)
        return results, report

    def _prepared(
        self,
        index: SectionIndex,
        text: str,
        categories: Collection[str] | None,
        filters: Mapping[str, Any],
        unknown: list[str],
    ) -> tuple[Search, SearchReport]:
        allowed = index.allowed(categories, self.enforced, filters)
        search = Search(index, text, allowed, self.settings, self._lemmatizer)
        searched = dict.fromkeys(index.knowledge.sections[number].category for number in sorted(allowed))
        stages = [StageReport(stage, threshold_of(self.settings, stage)) for stage in self.settings.stages]
        return search, SearchReport(text, list(searched), unknown, len(allowed), stages)

    async def _run_stages(self, search: Search, report: SearchReport, text: str, index: SectionIndex) -> None:
        ended_by: StageName | None = None
        for stage in report.stages:
            if ended_by is not None:
                stage.reason = f"the stage '{ended_by}' had a hit"
                continue
            started = time.perf_counter()
            stage.reason = await self._run_stage(stage.stage, search, text, index)
            stage.elapsed_ms = _milliseconds(started)
            if not stage.reason:
                scores = search.scores[stage.stage]
                stage.ran, stage.candidates = True, scores.candidates
                stage.hits = len(scores.hits(stage.threshold))
                if stage.hits and self.settings.stop_at_first_hit:
                    ended_by = stage.stage

    async def _run_stage(self, stage: StageName, search: Search, text: str, index: SectionIndex) -> str:
        """Runs one stage; why it could not, an empty text when it did."""
        if stage == "exact":
            await run_blocking(search.run_exact)
        elif stage == "lemma":
            await run_blocking(search.run_lemma)
        else:
            return await self._run_semantic(search, text, index)
        return ""

    async def _run_semantic(self, search: Search, text: str, index: SectionIndex) -> str:
        embedder = self._embedder
        if embedder is None:
            return "embeddings are off"
        # Where no other stage is configured, nothing is searched by words in its place.
        alone = len(self.settings.stages) == 1
        part = "vectors_alone" if alone else "vectors"
        if not wants_vector(embedder, text):
            told = "the question has no words in a language that the embedding model knows"
            if alone:
                degraded(self._name, part, told)
            return told
        vector = await query_vector(embedder, text, self._name, part)
        if vector is None:
            return "the embedding model failed"
        try:
            rows = await self._vectors(embedder).rows(index.knowledge, len(vector))
        except Exception as error:  # whatever the model's SDK raises: an outage takes the stage, not the source
            return degraded_by(self._name, part, error)
        await run_blocking(lambda: search.run_semantic(rows @ vector))
        return ""

    def _vectors(self, embedder: Embedder) -> SectionVectors:
        if self._section_vectors is None:
            from groundgraph.sources.cascade.section_vectors import SectionVectors

            self._section_vectors = SectionVectors(embedder, self._vectors_file)
        return self._section_vectors

    async def _by_category(
        self, categories: Sequence[str], filters: Mapping[str, Any], top_k: int
    ) -> list[SourceResult]:
        """The sections of `categories` without a question; nothing for categories that do not exist."""
        if not categories:
            return []
        index = await run_blocking(self._current)
        known, unknown = _known(index.knowledge, categories)
        if unknown:
            degraded(self._name, "categories", f"there is no category {', '.join(map(repr, unknown))}")
        allowed = await run_blocking(index.allowed, known, self.enforced, filters)
        sections = [index.knowledge.sections[number] for number in sorted(allowed)]
        best = sorted(sections, key=lambda section: -section.priority)[:top_k]
        return [
            SourceResult(section.content, section.id, self._name, SOURCE_TYPE, 1.0, section.metadata())
            for section in best
        ]

    def _current(self) -> SectionIndex:
        """The index of the files as they are now."""
        with self._guard:
            knowledge = self._files.current()
            if self._index is None or self._index.knowledge is not knowledge:
                self._index = SectionIndex(knowledge, self._lemmatizer)
            index = self._index
        if knowledge.stale:
            degraded(self._name, "files", knowledge.stale)
        return index

    def _tell_unknown(self, unknown: Sequence[str], known: Collection[str]) -> None:
        told = f"there is no category {', '.join(map(repr, unknown))}"
        degraded(self._name, "categories", f"{told}, {'the others' if known else 'so all'} were searched")


def _known(knowledge: Knowledge, categories: Sequence[str]) -> tuple[set[str], list[str]]:
    """The categories that exist, under their own names, and the names that are none."""
    if isinstance(categories, str):
        categories = [categories]
    by_name = {name.casefold(): name for name in knowledge.categories}
    wanted = {given: by_name.get(given.strip().casefold()) for given in categories if given.strip()}
    known = {name for name in wanted.values() if name is not None}
    return known, [given for given, name in wanted.items() if name is None]


def _milliseconds(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)


# The source type `cascade` of a configuration.

OF_THE_SEARCH = tuple(RetrieverSettings.model_fields)


def cascade_from_options(entry: SourceOptions) -> CascadeSource:
    """`type: cascade` with `path`, and optionally `vectors`, `description` and every key of the section `retriever`.

    Raises:
        ConfigurationError: an option is unknown, missing, or has a bad value; a stage lacks what it needs; there is no
            file, or one is wrong.
    """
    settings = search_settings(entry.options, entry.key, ignored=("path", "vectors", "description"))
    problems = []
    if settings.use_embeddings and entry.embedder is None:
        told = "needs an embedding model: name one under `embeddings`, or as `embedder_model`"
        problems.append(Problem(f"{entry.key}.use_embeddings", told))
    paths = _paths(entry.options.get("path"), f"{entry.key}.path", problems)
    vectors = entry.options.get("vectors") or DEFAULT_VECTORS
    if not isinstance(vectors, str | Path):
        problems.append(Problem(f"{entry.key}.vectors", "must be the path of a file"))
    refuse_any(problems)
    source = CascadeSource(
        [entry.base_dir / path for path in paths],
        name=entry.name,
        embedder=entry.embedder if settings.use_embeddings else None,
        settings=settings,
        lemmatizer=configured_lemmatizer(settings.lemmatizer, settings.languages, entry.key),
        vectors=entry.base_dir / vectors,
        description=str(entry.options.get("description") or ""),
    )
    try:
        source.read_files()
    except SourceUnavailable as error:
        raise ConfigurationError([Problem(f"{entry.key}.path", str(error))]) from error
    return source


def search_settings(given: Mapping[str, Any], key: str, *, ignored: Sequence[str] = ()) -> RetrieverSettings:
    """The settings of a search that `given` holds; those of the defaults for what is not there.

    Args:
        given: by the names of `RetrieverSettings`.
        key: where they stand in the configuration, for messages; may be empty.
        ignored: names that are something else.

    Raises:
        ConfigurationError: a name is unknown, or a value does not fit.
    """
    known = [*ignored, *OF_THE_SEARCH]
    prefix = f"{key}." if key else ""
    problems = unknown_names(given, known, key, "a cascade has no option '{name}'")
    settings = RetrieverSettings()
    try:
        settings = RetrieverSettings.model_validate({name: given[name] for name in given if name in OF_THE_SEARCH})
    except ValidationError as error:
        for item in error.errors():
            place = ".".join(map(str, item["loc"]))
            problems.append(Problem(f"{prefix}{place}".rstrip("."), message_of(item, item["loc"])))
    refuse_any(problems)
    return settings


def _paths(given: Any, key: str, problems: list[Problem]) -> list[str]:
    paths = [given] if isinstance(given, str | Path) else given
    if not isinstance(paths, list) or not paths or not all(isinstance(path, str | Path) and path for path in paths):
        problems.append(Problem(key, "is missing: name the folder or the files with the knowledge"))
        return []
    return [str(path) for path in paths]
