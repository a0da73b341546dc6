"""What `groundgraph doctor` looks at."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from groundgraph.cli.check_config import lacking_parts
from groundgraph.cli.output import note
from groundgraph.cli.progress import SECONDS_BETWEEN_LINES
from groundgraph.core.document import MEDIA_TYPES
from groundgraph.core.errors import ConfigurationError, GroundGraphError, refuse_any
from groundgraph.core.failure import described, failure_of
from groundgraph.core.intent import RetrievalIntent
from groundgraph.core.secret_mask import mask
from groundgraph.core.write_ahead_log import reading_uri
from groundgraph.graph.configured_models import configured_embedder, embedding_key, embedding_problem
from groundgraph.graph.knowledge_base_files import knowledge_base_files
from groundgraph.graph.open_graph import server_problems
from groundgraph.graph.resources import Resources
from groundgraph.ingest.builtin_chains import chains_without_model
from groundgraph.ingest.find_files import find_files
from groundgraph.ingest.read_file import NEEDED, package_problem
from groundgraph.ingest.readers import Readers
from groundgraph.models.chat_model import configured_model, model_problem
from groundgraph.resilience.blocking import run_blocking
from groundgraph.resilience.bounds import within
from groundgraph.settings.knowledge_base import KnowledgeBaseSettings
from groundgraph.settings.services import EmbeddingSettings, ModelSettings
from groundgraph.settings.settings import Settings
from groundgraph.sources.contract import GroundedSource, ask
from groundgraph.sources.knowledge_base.schema import open_for_reading, version_of, when_unreadable
from groundgraph.storage.storage_errors import sqlite_error

# The sources of a configuration, and whether each of them answers.

LIMIT = 2.0
FILL = "groundgraph ingest PATH"
_PROBE = RetrievalIntent(text_queries=["groundgraph"])


@dataclass(frozen=True)
class ProbedSource:
    """One source.

    Attributes:
        name: its name.
        type: its kind.
        weight: its share when results are merged.
        fields: the fields that filters may name, with their types.
        documents: how many documents it holds, None when it cannot tell.
        chunks: how many pieces can be found, None when it cannot tell.
        answers: whether it answered a query within `LIMIT` seconds.
        milliseconds: how long that took.
        reason: why it did not answer.
        advice: what the owner of what it searches should change.
    """

    name: str
    type: str
    weight: int
    fields: dict[str, str]
    documents: int | None
    chunks: int | None
    answers: bool
    milliseconds: float
    reason: str = ""
    advice: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The source as `groundgraph sources --json` prints it; advice is for `groundgraph doctor`."""
        return {name: value for name, value in asdict(self).items() if name != "advice"}


async def probe_sources(settings: Settings) -> list[ProbedSource]:
    """Ask every source of `settings` one query, all at once.

    Raises:
        ConfigurationError: the settings cannot work.
    """
    resources = Resources.build(settings.without_models())
    try:
        refuse_any(lacking_parts(settings, resources.sources))
        return await probed_sources(resources)
    finally:
        await resources.close()


async def probed_sources(resources: Resources) -> list[ProbedSource]:
    """Ask every source of `resources` one query, all at once."""
    weights = {entry.name: entry.weight for entry in resources.settings.sources}
    probes = (_probed(source, weights.get(name, 1)) for name, source in resources.sources.items())
    return list(await asyncio.gather(*probes))


async def _probed(source: GroundedSource, weight: int) -> ProbedSource:
    await _made_ready(source)
    started = time.perf_counter()
    reason = await _why_silent(source)
    elapsed = (time.perf_counter() - started) * 1000
    schema = source.get_schema()
    fields = {name: str(spec.get("type", "")) for name, spec in schema.fields.items()} if schema else {}
    counts = {} if reason else await size_of(source)
    return ProbedSource(
        source.name,
        source.source_type,
        weight,
        fields,
        counts.get("documents"),
        counts.get("chunks"),
        not reason,
        round(elapsed, 1),
        reason,
        () if reason else await _advice(source),
    )


async def _advice(source: GroundedSource) -> tuple[str, ...]:
    """What the source advises; nothing when it cannot tell in time."""
    try:
        return tuple(await within(LIMIT, source.advice()))
    except Exception:
        return ()


async def _made_ready(source: GroundedSource) -> None:
    """Load the client library of a source that has one, and bring its index up to date, however long that takes the
    first time; neither is part of the contract, nor of an answer's time."""
    for work in filter(None, (getattr(source, name, None) for name in ("load", "refresh"))):
        started = time.monotonic()
        task = asyncio.ensure_future(work())
        while not (await asyncio.wait([task], timeout=SECONDS_BETWEEN_LINES))[0]:
            note(f"{source.name}: getting its index ready, {time.monotonic() - started:.0f} s")
        # A failure is told by the probe behind this.
        task.exception()


async def _why_silent(source: GroundedSource) -> str:
    """Why `source` does not answer, an empty string when it does."""
    try:
        await within(LIMIT, ask(source, _PROBE, top_k=1, score_threshold=0.0))
    except TimeoutError:
        return f"it did not answer within {LIMIT:g} seconds"
    except Exception as error:  # any exception is a failure of the source, by contract
        # Readers are told less by a source than its owner, who has to mend the file.
        told = error.__cause__ if isinstance(error.__cause__, ConfigurationError) else error
        return mask(str(told).strip()) or type(error).__name__
    return ""


async def size_of(source: GroundedSource) -> dict[str, int]:
    """`documents` and `chunks`, as far as the source tells in time; `counts` is no part of the contract."""
    counts = getattr(source, "counts", None)
    try:
        return dict(await within(LIMIT, counts())) if counts else {}
    except Exception:  # a size that cannot be told is not worth an error
        return {}


PACKAGE = "groundgraph"
_SERVER = ("langgraph_api", "weaviate")
_SERVER_SECONDS = 60
# A model on this machine may be loaded from disk first.
_TRY_SECONDS = 120.0


@dataclass(frozen=True)
class Finding:
    """The result of one check: what was looked at, how it is, and what to do when it is not well."""

    check: str
    state: Literal["ok", "warn", "fail"]
    message: str
    todo: str = ""


async def examine(settings: Settings, *, tries: bool = False) -> list[Finding]:
    """Every finding, in the order in which one would mend them; with `tries` each model is called once."""
    found = [python_version(), *package_versions(), sqlite_version()]
    found += [Finding("configuration", "warn", notice) for notice in chains_without_model(settings)]
    found += await run_blocking(document_packages, settings)
    found += writable_folders(settings)
    found += unusable_files(settings)
    found += await servers_that_keep(settings)
    bases = list(knowledge_bases(settings))
    found += bases
    found += await _sources(settings, {finding.check for finding in bases if finding.state != "ok"})
    found += await tried_models(settings) if tries else models(settings)
    found.append(await run_blocking(server_packages))
    return found


async def _sources(settings: Settings, unfilled: Collection[str]) -> list[Finding]:
    """Whether each source answers and what may be said about it, but for the bases that a check found `unfilled`."""
    try:
        probed = [one for one in await probe_sources(settings) if _base(one.name) not in unfilled]
    except ConfigurationError as error:
        return [Finding("configuration", "fail", str(error), "No turn is run with it until that is mended.")]
    advice = [Finding(f"source {one.name}", "warn", advice) for one in probed for advice in one.advice]
    return [*map(source_answers, probed), *advice]


def python_version() -> Finding:
    """Whether this Python is one that groundgraph is made for."""
    own = ".".join(map(str, sys.version_info[:3]))
    wanted = metadata(PACKAGE)["Requires-Python"] or ""
    if SpecifierSet(wanted).contains(own, prereleases=True):
        return Finding("Python", "ok", own)
    return Finding("Python", "fail", f"{own} is not {wanted}", f"Install groundgraph under a Python {wanted}.")


def package_versions() -> Iterator[Finding]:
    """Whether every package that groundgraph needs is here in a version that it takes."""
    needed = [Requirement(text) for text in requires(PACKAGE) or [] if "extra ==" not in text]
    wrong = [finding for finding in map(_package, needed) if finding]
    yield from wrong
    if not wrong:
        yield Finding("packages", "ok", f"{PACKAGE} {version(PACKAGE)} and the {len(needed)} that it needs")


def _package(needed: Requirement) -> Finding | None:
    todo = f'pip install "{needed.name}{needed.specifier}"'
    try:
        found = version(needed.name)
    except PackageNotFoundError:
        return Finding("packages", "fail", f"{needed.name} is not installed", todo)
    if needed.specifier.contains(found, prereleases=True):
        return None
    return Finding("packages", "fail", f"{needed.name} {found} is not {needed.specifier}", todo)


def document_packages(settings: Settings) -> list[Finding]:
    """Whether the packages that read documents load, in a process as an ingest starts it.

    One that is not installed is needed only where `knowledge_base.path` holds such documents.
    """
    try:
        wrong, absent = _package_problems(settings, settings.knowledge_base or KnowledgeBaseSettings())
    except GroundGraphError as error:
        return [Finding("documents", "fail", f"no document can be read: {error}")]
    if wrong:
        return [Finding("documents", "fail", told) for told in wrong]
    if absent:
        told = f"packages are not installed that only these need: {', '.join(absent)}"
        return [Finding("documents", "ok", told, 'pip install "groundgraph[documents]"')]
    return [Finding("documents", "ok", "the packages that read PDF, Word, Excel and HTML load")]


def _package_problems(settings: Settings, base: KnowledgeBaseSettings) -> tuple[list[str], list[str]]:
    """What is wrong with the packages that are needed, and the kinds of documents whose packages are not installed."""
    files = find_files([settings.at(base.path)], settings.base_dir).files if base.path else []
    there = {MEDIA_TYPES[file.path.suffix.lower()] for file in files}
    with closing(Readers(base.reader, 1)) as readers:
        problems = {kind: problem for kind in NEEDED if (problem := readers.call(package_problem, kind))[1]}
    wrong = [told for kind, (installed, told) in problems.items() if installed or kind in there]
    return wrong, [NEEDED[kind][0] for kind, (installed, _) in problems.items() if not installed]


def sqlite_version() -> Finding:
    """Which SQLite there is."""
    return Finding("SQLite", "ok", sqlite3.sqlite_version)


def writable_folders(settings: Settings) -> Iterator[Finding]:
    """Whether the folders of threads, evidence and knowledge bases can be written."""
    kept = [settings.at(saver.path) for saver in (settings.checkpointer, settings.store) if saver.type == "sqlite"]
    for folder in dict.fromkeys(path.parent for path in (*kept, *_base_files(settings).values())):
        existing = next(filter(Path.exists, (folder, *folder.parents)))
        room = shutil.disk_usage(existing)
        # Some that are no disks have no size.
        if room.total and not room.free:
            yield Finding("folder", "fail", f"the disk of {folder} is full", "Make room on it.")
        elif existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
            made = "" if existing == folder else ", which will be made,"
            yield Finding("folder", "ok", f"{folder}{made} can be written")
        else:
            yield Finding("folder", "fail", f"{folder} cannot be written", f"Give this user the right to {existing}.")


def unusable_files(settings: Settings) -> Iterator[Finding]:
    """The files of threads and evidence that are there and cannot be read."""
    for key, saver in (("checkpointer", settings.checkpointer), ("store", settings.store)):
        if saver.type != "sqlite" or not os.path.exists(file := settings.at(saver.path)):
            continue
        try:
            with closing(sqlite3.connect(reading_uri(file), uri=True)) as connection:
                connection.execute("PRAGMA schema_version")
        except sqlite3.Error as error:
            yield Finding(key, "fail", str(sqlite_error(error, str(file)) or error))


async def servers_that_keep(settings: Settings) -> list[Finding]:
    """Whether the servers of threads and evidence answer, and let this role make its tables."""
    told = "PostgreSQL answers, and tables can be made there"
    return [
        Finding(key, "fail", problem) if problem else Finding(key, "ok", told)
        for key, problem in (await server_problems(settings)).items()
    ]


def knowledge_bases(settings: Settings) -> Iterator[Finding]:
    """Whether each knowledge base is there, readable and of a known schema version."""
    for name, file in _base_files(settings).items():
        yield _knowledge_base(_base(name), file)


def _base_files(settings: Settings) -> dict[str, Path]:
    """The files of the knowledge bases. Whether one in Weaviate can be searched, the check of its source tells."""
    return {name: base.path for name, base in knowledge_base_files(settings).items() if base.place is None}


def _base(name: str) -> str:
    return f"knowledge base {name}"


def _knowledge_base(check: str, file: Path) -> Finding:
    try:
        if not file.is_file():
            return Finding(check, "warn", f"there is nothing in {file} yet", FILL)
        connection = open_for_reading(file)
        try:
            found = version_of(connection)
            filled = found and connection.execute("SELECT 1 FROM chunks LIMIT 1").fetchone()
        finally:
            connection.close()
    except GroundGraphError as error:
        return Finding(check, "fail", str(error))
    except sqlite3.Error as error:
        return Finding(check, "fail", f"{file} cannot be read: {error}", when_unreadable(error))
    except OSError as error:
        return Finding(check, "fail", f"{file} cannot be read: {error.strerror}")
    if not filled:
        return Finding(check, "warn", f"there is nothing in {file} yet", FILL)
    return Finding(check, "ok", f"{file}, schema version {found}")


def source_answers(probed: ProbedSource) -> Finding:
    """Whether one source answered its probe."""
    check = f"source {probed.name}"
    if probed.answers:
        return Finding(check, "ok", f"{probed.type}, answers in {probed.milliseconds:.0f} ms")
    return Finding(check, "fail", probed.reason, "See `groundgraph sources`; a turn goes on without this source.")


def models(settings: Settings) -> Iterator[Finding]:
    """Whether the configured models can be built; their keys are looked for and neither shown nor used."""
    chat = settings.chat_models
    found = {key: (model, model_problem(model, key)) for key, model in chat.items()}
    if settings.embedding_model:
        key = embedding_key(settings)
        found[key] = (settings.embedding_model, embedding_problem(settings.embedding_model, key))
    for key, (model, problem) in found.items():
        if problem:
            yield Finding(key, "fail", f"{_name(model)}: {problem.message}")
        else:
            told = "its package is here and so is its key, if it needs one; --try calls it"
            yield Finding(key, "ok", f"{_name(model)}: {told}")
    if not chat:
        yield Finding("models", "ok", "none is configured; answers are structured, from the evidence alone")


def _name(model: ModelSettings) -> str:
    return f"{model.provider or ''} {model.model}".strip()


async def tried_models(settings: Settings) -> list[Finding]:
    """As `models`; those that can be built are asked for a word, or for the vector of one."""
    found = list(models(settings))
    asked = dict(settings.chat_models)
    if settings.embedding_model:
        asked[embedding_key(settings)] = settings.embedding_model
    return [
        await _tried(settings, one.check, asked[one.check]) if one.check in asked and one.state == "ok" else one
        for one in found
    ]


async def _tried(settings: Settings, key: str, model: ModelSettings) -> Finding:
    started = time.perf_counter()
    try:
        await within(_TRY_SECONDS, _call(settings, key, model))
    except TimeoutError:
        return Finding(key, "fail", f"{_name(model)}: it did not answer within {_TRY_SECONDS:g} seconds")
    except Exception as error:  # clients of models raise errors of their own
        return Finding(key, "fail", f"{_name(model)}: {described(error)}", _todo(error))
    return Finding(key, "ok", f"{_name(model)}: answers in {(time.perf_counter() - started) * 1000:.0f} ms")


def _todo(error: Exception) -> str:
    """What to do about a model that does not answer, as far as its error tells."""
    failure = failure_of(error, "model")
    if failure.get("status") == 404:
        return "There is no model of this name, or `base_url` leads elsewhere."
    return {
        "refused": "The key is wrong, or has no right to this model.",
        "unreachable": "Is the network there, or the server started, and is `base_url` right?",
        "limited": "The quota of this key is used up for now.",
    }.get(failure["kind"], "")


async def _call(settings: Settings, key: str, model: ModelSettings) -> None:
    embedder = configured_embedder(settings) if isinstance(model, EmbeddingSettings) else None
    chat_model = None if embedder else configured_model(model, key)
    if embedder:
        await embedder.embed_query("OK")
    elif chat_model:
        await chat_model.ainvoke("Reply with the word OK.")


def server_packages() -> Finding:
    """Whether the LangGraph server and the Weaviate client, which disagree about grpcio, load in one process."""
    if not all(find_spec(name) for name in _SERVER):
        return Finding("server", "ok", "not installed; only needed to serve", 'pip install "groundgraph[serve]"')
    command = [sys.executable, "-W", "ignore", "-c", f"import {', '.join(_SERVER)}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SERVER_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return Finding("server", "warn", f"its packages did not load within {_SERVER_SECONDS} s")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it ended without a message"])[-1]
        todo = 'Install grpcio 1.81 as the lock file does: pip install "grpcio>=1.81,<1.82"'
        return Finding("server", "fail", f"{' and '.join(_SERVER)} do not load together: {last}", todo)
    return Finding("server", "ok", f"langgraph-api {version('langgraph-api')} loads beside the Weaviate client")
