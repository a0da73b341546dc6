"""The source over the tables of a SQL database."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from typing_extensions import override

from groundgraph.core.computation import ComputableTable, Proposal
from groundgraph.core.errors import (
    AccessRefused,
    ConfigurationError,
    GroundGraphError,
    Problem,
    SourceTimeout,
    SourceUnavailable,
    refuse_any,
)
from groundgraph.core.evidence import SourceResult
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.registry import nearest
from groundgraph.core.schema import SourceSchema
from groundgraph.resilience.blocking import run_blocking
from groundgraph.sources.check_options import COUNT, LIST, TEXT, declared_fields, unknown_names, wrong_values
from groundgraph.sources.contract import NamedSource, SourceOptions
from groundgraph.sources.sql.location import EngineOptions, ServerAddress, is_other, is_server, locate
from groundgraph.sources.sql.postgres.connect import Running, current
from groundgraph.sources.sql.postgres.options import OPTIONS, PostgresOptions, question_vectors
from groundgraph.sources.sql.records import MemoryTable
from groundgraph.sources.sql.shape import Fields, Wanted, as_source_schema, read_relations
from groundgraph.sources.sql.topic_store import (
    PLACE_METADATA,
    SqlTopicStore,
    TopicColumns,
    option_problems,
    table_problems,
)

if TYPE_CHECKING:
    from groundgraph.sources.sql.engine import SqlEngine


T = TypeVar("T")
MAX_TABLES = 3
# The tables may change again while they are looked at again.
_LOOKS = 2


class SqlComputing:
    """See `core.computation.Computing`."""

    def __init__(self, source: SqlSource) -> None:
        self._source = source

    async def tables(self, names: Sequence[str], filters: Mapping[str, Any]) -> list[ComputableTable]:
        """See `Computing.tables`."""
        return await self._source.with_engine(lambda engine: engine.computable(names, filters))

    async def run(self, proposal: Proposal, filters: Mapping[str, Any]) -> SourceResult:
        """See `Computing.run`."""
        return await self._source.with_engine(lambda engine: engine.computed(proposal, filters))


class SqlSource(NamedSource):
    """Rows of the tables of a SQL database, found by the words of whole questions.

    The database is opened read-only. Where every table has a full-text index of PostgreSQL (GIN over a `tsvector`),
    that one is searched, and nothing is kept here. Otherwise the words are looked up in a full-text index that
    groundgraph keeps in a file of its own in `.groundgraph/index/`, named by the source, the address, the role and the
    options of the session, and readable by its owner only. Tables with row-level security are kept in no file: they
    need an index of PostgreSQL's own, or `index=":memory:"`. Before each query a cheap look tells whether the database
    was written to. When it was, all rows are read again (about half a second for 100 000) and those that changed are
    indexed, in a thread of its own. A query waits one second for that; when it takes longer, it is answered from the
    rows as they were indexed, and each result says `index: stale` in its metadata. The first build is always waited for
    (about 10 seconds for 100 000 rows of 100 words); `refresh` makes it happen beforehand.

    Any other database that SQLAlchemy has a dialect for is read by plain selects in transactions that are rolled back;
    give it a role that may only read. Rows that are new or gone are seen within a second, rows that changed in place
    within a minute. A filter of texts by `not` or `contains` reads the column of each row, when the data changed.
    Nothing is computed there, since what it takes for equal is not known; a question for a count is told so.

    The relevance of a row is the mean, over the content words of the question by stem, of the best field that holds
    the word: 1.0 for the content field (or any field, when rows are shown as a whole), 0.5 for another, at least 0.05.
    Thresholds are compared with it. It knows nothing of how rare a word is, so rows come in the order of their `score`,
    the BM25 of the knowledge base; among equal scores the more relevant row is first.

    Args:
        url: `sqlite:///file.db`, the path of the file, `postgresql://user@host/database`, or an address for another
            dialect of SQLAlchemy whose driver is installed, asynchronous or not, such as `mysql+aiomysql://...`.
        table: the table or view to search.
        tables: several of them; without either, all tables of the database.
        name: the name of the source.
        content_field: the column that is the text of a result. By default `content`, `text` or `body` when there is
            such a text column, else the whole row as lines `column: value`.
        text_search_fields: the columns in which words are searched; by default all text columns.
        schema: declares types, enums and descriptions of fields, as a `SourceSchema`, a mapping of names to
            specifications, or a list of mappings with `name`. Columns that it leaves out keep the type of the column.
        description: what the tables hold, in a sentence.
        index: the file of the index; `:memory:` keeps it in memory.
        fts: an FTS5 table of the database itself, whose row numbers are those of `table`; no index is kept then.
        max_tables: the most tables that one question searches.
        relations: what belongs to the rows of one table from another, as `incidents.pump_id = pumps.id`, or mappings
            with `from`, `to`, and where wanted `fields` and `as`. The columns of the partner are searched, filtered
            and shown like the row's own, under names such as `pumps.hall`. Without it, the foreign keys between the
            tables add the columns by which the partner is told; an empty list adds none.
        postgres: the options of a source on a server.
        vector_field: a column of the type `vector` (pgvector) on a server, to search by meaning as well.
        embeddings: the model that makes the vectors of questions for it: LangChain's, or an `Embedder`.
        topic_columns: the columns `document`, `order` and `headings` of the one `table`, for a topic index. The
            headings above a row are a JSON list or a text joined by " > ". On a server the index is kept here then.
        base_dir: the folder that relative paths start from; the working directory by default.

    Raises:
        ConfigurationError: the arguments contradict each other, or the schema has an unknown type.
    """

    def __init__(
        self,
        url: str | Path,
        *,
        name: str,
        table: str | None = None,
        tables: Sequence[str] | None = None,
        content_field: str | None = None,
        text_search_fields: Sequence[str] | None = None,
        schema: SourceSchema | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        description: str = "",
        index: str | Path | None = None,
        fts: str | None = None,
        max_tables: int = MAX_TABLES,
        relations: Sequence[Any] | None = None,
        postgres: PostgresOptions | None = None,
        topic_columns: Mapping[str, Any] | None = None,
        vector_field: str = "",
        embeddings: Any = None,
        base_dir: str | Path | None = None,
        source_type: str = "sql",
        records: MemoryTable | None = None,
    ) -> None:
        folder, named = Path(base_dir or ""), [table] if table else list(tables or ())
        self._check(name, table, tables, fts, max_tables)
        postgres = self._with_vectors(name, postgres, vector_field, embeddings)
        self._check_server(name, url, fts, postgres)
        self._name, self._source_type = name, source_type
        self._topics: SqlTopicStore | None = None
        if topic_columns is not None:
            self._topics = SqlTopicStore(self, self._topic_columns(topic_columns, name, named, postgres))
            postgres = replace(postgres or PostgresOptions(), text_index="own") if is_server(url) else None
        location = records.uri if records else locate(url, folder, name)
        self._fields, self._required = declared_fields(schema, f"{name}.schema")
        self._description = description
        self._options = EngineOptions(
            (name, source_type),
            location,
            ":memory:" if records else index,
            Wanted(named, content_field, list(text_search_fields or ()), self._fields, read_relations(relations, name)),
            max_tables,
            folder,
            fts,
            records,
            postgres,
        )
        self._engine: SqlEngine | None = None
        self._guard = threading.Lock()
        self._closed = False
        as_source_schema(name, self._fields, self._required, description)

    @classmethod
    def from_records(
        cls,
        records: Iterable[Mapping[str, Any]] = (),
        *,
        name: str,
        path: str | Path | None = None,
        table: str | None = None,
        schema: SourceSchema | Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
        **options: Any,
    ) -> SqlSource:
        """A source over records in memory: mappings, or the lines of a CSV or JSONL file at `path`.

        A record's `id` is its key when every record has one of its own. `options` are those of the class.

        Raises:
            ConfigurationError: a record is no mapping of names to values.
        """
        declared, _ = declared_fields(schema, f"{name}.schema")
        types = {field: str(spec.get("type", "string")) for field, spec in declared.items()}
        topics = options.get("topic_columns")
        named = [options.get("content_field"), *(options.get("text_search_fields") or ())]
        named += TopicColumns.of(topics, f"{name}.topic_columns").names if topics is not None else []
        filled = MemoryTable(
            table or name,
            records,
            path=Path(path) if path is not None else None,
            types=types,
            columns=[column for column in named if column],
        )
        return cls("sqlite://", name=name, table=table or name, schema=schema, records=filled, **options)

    def get_schema(self) -> SourceSchema:
        """The declared fields, and the columns of the tables with the types they have.

        A database that cannot be read leaves the declared fields alone, and the schema says why; queries then say what
        is wrong with it.

        Raises:
            ConfigurationError: the database has no such table.
        """
        fields: Fields = {}
        unread = ""
        try:
            fields = self._fields_beside_the_loop()
        except (SourceUnavailable, SourceTimeout, AccessRefused) as error:
            unread = str(error)
        return as_source_schema(self._name, {**fields, **self._fields}, self._required, self._description, unread)

    async def metadata_fields(self) -> set[str]:
        """The names of all columns, and those that the source itself gives."""
        own = set(PLACE_METADATA) if self._topics else set()
        return own | await run_blocking(lambda: self._opened().metadata_fields())

    async def query(
        self, intent: RetrievalIntent, *, top_k: int = 5, score_threshold: float = 0.0
    ) -> list[SourceResult]:
        """See `GroundedSource.query`.

        A question that asks for a count, sum, minimum, maximum or average gets one result that states it; see
        `compute`. Rows without content come last, where there is room, so that whoever asked can count them.

        Raises:
            SourceUnavailable: the database or its index cannot be read.
            SchemaChanged: a table that was there is gone, or a field that the configuration names is no column.
            ConfigurationError: the database has no such table, or a server refuses the login or the right to read.
            FilterInvalid: a filter or a computation names a field or value that is not declared.
        """
        server = self._options.server
        vectors = await question_vectors(server, intent.text_queries, self._name) if server else None
        return await self.with_engine(
            lambda engine: engine.answer(intent, top_k=top_k, score_threshold=score_threshold, vectors=vectors)
        )

    @override
    def computing(self) -> SqlComputing:
        """Computations over one table at a time; none in a database that is read through a portable dialect."""
        return SqlComputing(self)

    @override
    def topic_refusal(self, *, headings: bool, vectors: bool) -> str:
        if self._topics is None:
            return "the source does not say which columns hold headings; set `topic_columns`"
        return "works with vectors, which a topic index does not read of a SQL source" if vectors else ""

    async def with_engine(self, work: Callable[[SqlEngine], T]) -> T:
        """The result of `work`, called in a thread with what answers the queries.

        Raises:
            SourceUnavailable, SchemaChanged, ConfigurationError: as `query`.
        """
        return await self._cancellable(lambda: self._on_present_tables(work))

    async def route(self, question: str, *, limit: int | None = None) -> list[str]:
        """The names of the tables that `question` would be searched in, the best first."""
        return await run_blocking(
            lambda: self._on_present_tables(lambda engine: engine.route(question, limit or self._options.max_tables))
        )

    async def refresh(self) -> None:
        """Open the database and bring the index up to date, however long that takes.

        Raises:
            SourceUnavailable, SchemaChanged, ConfigurationError: as `query`.
        """
        await run_blocking(lambda: self._on_present_tables(lambda engine: engine.refresh()))

    async def advice(self) -> list[str]:
        """What the owner of the database should change, such as rights that are too wide or a missing index.

        Raises:
            SourceUnavailable: the database cannot be read.
        """
        return await run_blocking(lambda: self._opened().advice())

    async def close(self) -> None:
        """Close the database and the index; an update of the index is given up."""
        await run_blocking(self._close)

    def _close(self) -> None:
        # Whoever opens the database holds the guard until the server answers.
        with self._guard:
            self._closed = True
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def _on_present_tables(self, work: Callable[[SqlEngine], T]) -> T:
        """The result of `work`; again when the tables turn out to have changed since they were looked at."""
        for _ in range(_LOOKS):
            engine = self._opened()
            try:
                return work(engine)
            except (SourceUnavailable, ConfigurationError) as error:
                if not self._is_outdated(engine, error):
                    raise
        return work(self._opened())

    def _is_outdated(self, engine: SqlEngine, error: GroundGraphError) -> bool:
        """Whether `error` came of tables that are not what they were, or of an engine that was given up for that."""
        from groundgraph.sources.sql.engine import EngineUnfit

        with self._guard:
            given_up = self._engine is not engine
            if isinstance(error, EngineUnfit) and not given_up:
                self._engine = None
        if isinstance(error, EngineUnfit):
            engine.close()
            return True
        return given_up or engine.database.has_changed(error)

    def _opened(self) -> SqlEngine:
        # SQLAlchemy loads here, in a worker thread and not with `import groundgraph.sources`.
        from groundgraph.sources.sql.open_engine import open_engine

        with self._guard:
            if self._engine is None:
                self._engine = open_engine(self._options, closed=self._closed)
            return self._engine

    async def _cancellable(self, work: Callable[[], T]) -> T:
        """The result of `work` in a thread; when nobody waits for it any more, the server is told to stop."""
        if not isinstance(self._options.location, ServerAddress):
            return await run_blocking(work)
        running = Running()
        token = current.set(running)
        try:
            return await run_blocking(work)
        except asyncio.CancelledError:
            threading.Thread(target=running.cancel, name="groundgraph-cancel", daemon=True).start()
            raise
        finally:
            current.reset(token)

    def _fields_beside_the_loop(self) -> Fields:
        """Read in another thread: the event loop must not wait for files. A daemon keeps no process from ending."""
        outcome: Future[Fields] = Future()

        def read() -> None:
            try:
                outcome.set_result(self._opened().schema_fields())
            except BaseException as error:
                outcome.set_exception(error)

        threading.Thread(target=read, name="groundgraph-schema", daemon=True).start()
        return outcome.result()

    @staticmethod
    def _topic_columns(given: Any, name: str, tables: Sequence[str], server: PostgresOptions | None) -> TopicColumns:
        columns = TopicColumns.of(given, f"{name}.topic_columns")
        refuse_any(table_problems(tables, server, f"{name}.topic_columns"))
        return columns

    @staticmethod
    def _check(name: str, table: object, tables: Sequence[str] | None, fts: str | None, max_tables: int) -> None:
        problems = []
        if table is not None and not isinstance(table, str):
            problems.append(Problem(f"{name}.table", "is the name of one table; several are `tables=[...]`"))
        if table and tables:
            problems.append(Problem(f"{name}.tables", "give either `table` or `tables`"))
        if fts and not table:
            problems.append(Problem(f"{name}.fts", "a text index of the database belongs to one `table`; name it"))
        if max_tables < 1:
            problems.append(Problem(f"{name}.max_tables", "must be 1 or more"))
        refuse_any(problems)

    @staticmethod
    def _with_vectors(
        name: str, given: PostgresOptions | None, vector_field: str, embeddings: Any
    ) -> PostgresOptions | None:
        if not vector_field:
            return given
        from groundgraph.core.embedder import Embedder

        postgres = given or PostgresOptions()
        embedder = embeddings if embeddings is None or isinstance(embeddings, Embedder) else Embedder(embeddings, "")
        if embedder is None and postgres.embedder is None:
            told = "needs embeddings=, the model that made the vectors of the column, for those of questions"
            raise ConfigurationError([Problem(f"{name}.vector_field", told)])
        return replace(postgres, vector_field=vector_field, embedder=embedder or postgres.embedder)

    @staticmethod
    def _check_server(name: str, url: str | Path, fts: str | None, postgres: PostgresOptions | None) -> None:
        on_server, elsewhere = is_server(url), is_other(url)
        problems = [Problem(f"{name}.{option}", reason) for option, reason in (postgres.problems() if postgres else ())]
        if on_server and fts:
            problems.append(Problem(f"{name}.fts", "names an FTS5 table of SQLite; PostgreSQL's own indexes are found"))
        if elsewhere and fts:
            problems.append(Problem(f"{name}.fts", "names an FTS5 table of SQLite, which this database has none of"))
        if postgres is not None and not on_server:
            problems.append(Problem(f"{name}.url", "the options of a server need postgresql://user@host/database"))
        refuse_any(problems)


# The source types `sql` and `database` of a configuration.

_DATABASE = ("url", "path", "table", "tables", "index", "fts", "max_tables", "relations")
_MEMORY = ("records", "path", "table")
_BOTH = ("backend", "content_field", "text_search_fields", "schema", "description", "topic_columns")
_BACKENDS = ("sqlite", "postgresql", "memory")
_LISTS = ("tables", "text_search_fields", "records", "relations")
_TEXTS = ("url", "path", "table", "content_field", "description", "index", "fts", "text_config", "vector_field")
_KINDS = {**dict.fromkeys(_LISTS, LIST), **dict.fromkeys(_TEXTS, TEXT), "max_tables": COUNT}


def database_from_options(entry: SourceOptions) -> SqlSource:
    """`type: database`; see `sql_from_options`."""
    return sql_from_options(entry, source_type="database")


def sql_from_options(entry: SourceOptions, *, source_type: str = "sql") -> SqlSource:
    """`type: sql`: a SQLite or PostgreSQL database at `url` or `path`, or with `backend: memory` a table of records.

    Raises:
        ConfigurationError: an option is unknown, has a bad value, or is missing.
    """
    options = dict(entry.options)
    refuse_any(_problems(entry, options))
    kept: dict[str, Any] = {key: value for key, value in options.items() if value is not None}
    memory = _in_memory(options)
    kept.pop("backend", None)
    if memory:
        path = kept.pop("path", None)
        return SqlSource.from_records(
            kept.pop("records", ()),
            name=entry.name,
            path=entry.base_dir / path if path else None,
            source_type=source_type,
            **kept,
        )
    url = kept.pop("url", None) or kept.pop("path", None)
    kept.pop("path", None)
    if is_server(url):
        options = {name: kept.pop(name) for name in OPTIONS if name in kept}
        kept["postgres"] = PostgresOptions.of(options, entry.embedder)
    return SqlSource(url, name=entry.name, base_dir=entry.base_dir, source_type=source_type, **kept)


def _in_memory(options: dict[str, Any]) -> bool:
    backend = options.get("backend")
    return backend == "memory" or (backend is None and "records" in options)


def _problems(entry: SourceOptions, options: dict[str, Any]) -> list[Problem]:
    server = OPTIONS if is_server(options.get("url") or "") else ()
    known = (*_BOTH, *(_MEMORY if _in_memory(options) else (*_DATABASE, *server)))
    return [
        *unknown_names(options, known, entry.key, "a SQL source has no option '{name}'"),
        *_place_problems(entry.key, options),
        *wrong_values(options, _KINDS, entry.key),
        *_topic_problems(entry, options),
    ]


def _place_problems(key: str, options: dict[str, Any]) -> list[Problem]:
    backend, url = options.get("backend"), options.get("url")
    if backend not in (None, *_BACKENDS):
        hint = f"{nearest(str(backend), list(_BACKENDS))} Known: {', '.join(_BACKENDS)}."
        return [Problem(f"{key}.backend", f"'{backend}' is not supported.{hint}")]
    if not _in_memory(options) and not (url or options.get("path")):
        return [Problem(f"{key}.url", "is missing: the database, such as sqlite:///data.db")]
    if backend and url and backend != _backend_of(url):
        return [Problem(f"{key}.backend", f"is '{backend}', but the url names another database")]
    return []


def _backend_of(url: str) -> str:
    if is_other(url):
        return "another"
    return "postgresql" if is_server(url) else "sqlite"


def _topic_problems(entry: SourceOptions, options: dict[str, Any]) -> list[Problem]:
    given, key = options.get("topic_columns"), f"{entry.key}.topic_columns"
    if given is None:
        return []
    tables = [options["table"]] if options.get("table") else options.get("tables") or []
    server = PostgresOptions.of(options) if is_server(options.get("url") or "") else None
    named = [entry.name] if _in_memory(options) else tables
    return [*option_problems(given, key), *table_problems(named, server, key)]
