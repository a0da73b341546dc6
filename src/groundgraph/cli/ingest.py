"""`groundgraph ingest`: documents into the knowledge base; `groundgraph move`: an embedded one into Weaviate."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from groundgraph.cli.options import AsJson, BaseName, ConfigFile, find_settings, keep_out_of_git
from groundgraph.cli.output import DONE, DONE_WITH_FAILURES, counted, note, say, write_json
from groundgraph.cli.progress import OnEvent, shown_ingest, shown_progress

if TYPE_CHECKING:
    from groundgraph.core.knowledge_store import Verified
    from groundgraph.graph.knowledge_base_files import Moved
    from groundgraph.ingest.ingest_report import IngestReport, Reason
    from groundgraph.settings.settings import Settings
    from groundgraph.sources.knowledge_base.store import EmbeddedStore
    from groundgraph.sources.weaviate_base import WeaviateStore

# An ingest that many processes share: `--workers`, `--shard`.

Workers = Annotated[
    str | None,
    typer.Option(
        "--workers",
        metavar="N|ray",
        help="Read in N processes: of a base in a file those that read its documents (default: one for each core), of "
        "one in Weaviate whole ingests, each of a part. 'ray': as tasks of the cluster that RAY_ADDRESS names, else of "
        "one on this machine (extra: ray).",
        show_default=False,
    ),
]
Shard = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="Take in part I, from 0, of N (64 at most) into a base in Weaviate, while other processes, wherever they "
        "run, take in the others.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Shared:
    """How an ingest is shared among processes.

    Attributes:
        processes: of this machine; 0 for another engine.
        ray: by the tasks of a Ray cluster.
        shard: the part that is done here, and of how many.
    """

    processes: int = 0
    ray: bool = False
    shard: tuple[int, int] = (0, 1)

    @classmethod
    def of(cls, workers: str | None, shard: str | None) -> Shared | None:
        """What the options say; None without any."""
        if workers is not None and shard is not None:
            raise typer.BadParameter("is one part of an ingest, so it goes without --workers", param_hint="--shard")
        if shard is not None:
            return cls(shard=_part_of(shard))
        if workers is None or workers == "ray":
            return cls(ray=True) if workers else None
        if not workers.isdecimal() or not 0 < int(workers) <= 1024:
            raise typer.BadParameter("is a number from 1 to 1024, or ray", param_hint="--workers")
        return cls(int(workers))

    async def ingest(
        self, settings: Settings, source: str | None, given: dict[str, Any], on_event: OnEvent
    ) -> IngestReport:
        """The ingest of `given` into a base in Weaviate."""
        from groundgraph.graph.ingest_shards import by_processes, by_ray, in_turn, ingest_shards
        from groundgraph.sources.weaviate_base.objects import SHARDS

        engine = partial(by_processes, workers=self.processes) if self.processes else by_ray if self.ray else in_turn
        part, parts = self.shard
        return await ingest_shards(
            settings.origin or None,
            given["paths"],
            engine,
            source=source,
            shards=range(part, SHARDS, parts),
            follow_links=given["follow_links"],
            on_event=on_event,
        )


def _part_of(shard: str) -> tuple[int, int]:
    part, _, parts = shard.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and int(part) < int(parts) <= 64):
        raise typer.BadParameter("is I/N with I from 0 to N - 1 and N up to 64", param_hint="--shard")
    return int(part), int(parts)


# Taking documents in.

# `groundgraph ingest --verify`: is every chunk of a base there, found, and as it was written?


def verify_base(config: Path | None, source: str | None, *, as_json: bool) -> int:
    """Verify and repair the base, say what was found, and give the exit code.

    Raises:
        ConfigurationError: there is no such base.
        SourceError: the server cannot answer, or nothing was ever ingested.
        StorageLocked: another process is writing.
    """
    settings = find_settings(config).without_models()
    from groundgraph.graph.knowledge_base_files import knowledge_base_file, weaviate_store
    from groundgraph.sources.knowledge_base import EmbeddedStore

    base = knowledge_base_file(settings, source)
    found = asyncio.run(_verified(EmbeddedStore(base.path) if base.place is None else weaviate_store(settings, base)))
    if as_json:
        write_json(asdict(found))
    else:
        say(
            f"{counted(found.documents, 'document')} with {counted(found.chunks, 'chunk')} looked at: "
            f"{found.repaired} repaired, {found.removed} left-over removed."
        )
        for what, names in (("Incomplete", found.incomplete), ("Altered", found.altered)):
            for name in names:
                say(f"{what}, so taken out; ingesting its file again writes it anew: {name}")
    return DONE_WITH_FAILURES if found.taken_out else DONE


async def _verified(store: EmbeddedStore | WeaviateStore) -> Verified:
    try:
        return await store.verify()
    finally:
        await store.close()


# What `groundgraph ingest` takes.
Paths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATH_OR_URL...",
        help="Files, folders and web pages. Default: knowledge_base.path of the configuration.",
        show_default=False,
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Tell what would be written and taken out, and change nothing.")
]
Rebuild = Annotated[
    bool,
    typer.Option(
        "--rebuild",
        help="Process everything that the base holds anew where chains or embedding model changed; this is how "
        "another embedding model is taken. Questions are answered meanwhile.",
    ),
]
Verify = Annotated[
    bool,
    typer.Option(
        "--verify",
        help="Take nothing in: look whether every chunk of the base is there, as it was written and, in Weaviate, "
        "found by a search; repair that, or take the document out and name it (exit code 1).",
    ),
]
FollowLinks = Annotated[
    bool,
    typer.Option(
        "--follow-links", help="Follow links that lead out of a given folder, which are listed as skipped else."
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="That of the text, CSV and JSONL files of this run without a byte order mark, such as cp1251; for single "
        "files set knowledge_base.encodings. Default: UTF-8, or what the bytes look like.",
    ),
]
Watch = Annotated[
    bool,
    typer.Option(
        "--watch", help="Then follow the files and folders, and take in what changes, until Ctrl-C (extra: watch)."
    ),
]


def ingest(
    paths: Paths = None,
    dry_run: DryRun = False,
    rebuild: Rebuild = False,
    verify: Verify = False,
    follow_links: FollowLinks = False,
    encoding: Encoding = None,
    watch: Watch = False,
    workers: Workers = None,
    shard: Shard = None,
    source: BaseName = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Take documents into the knowledge base. What did not change since the last time is left as it is.

    Documents of a given folder that are gone are taken out. A document that cannot be read is listed, and the
    others are taken in. An ingest that was interrupted goes on where it stopped when it is run again.
    """
    shared = Shared.of(workers, shard)
    options = {"--dry-run": dry_run, "--rebuild": rebuild, "--verify": verify, "--watch": watch, "--json": as_json}
    _refuse_together({**options, "--encoding": encoding, "PATH_OR_URL": paths, "--workers, --shard": shared})
    if verify:
        raise typer.Exit(verify_base(config, source, as_json=as_json))
    settings = _with_encoding(find_settings(config), encoding)
    default = _default_path(settings)
    if not (paths or rebuild or default):
        raise typer.BadParameter(
            "name files or folders, or set knowledge_base.path in the configuration", param_hint="PATH_OR_URL"
        )
    named = _paths(paths or ())
    given = {"paths": named, "dry_run": dry_run, "rebuild": rebuild, "follow_links": follow_links}
    followed = _followed(named or [str(settings.base_dir / str(default))]) if watch else []
    report, file = _run(settings, source, given, quiet=as_json, shared=shared)
    _show(report, file, as_json=as_json, dry_run=dry_run)
    _note_nothing_found(report)
    if watch:
        _watch(settings, source, given, followed)
    raise typer.Exit(DONE_WITH_FAILURES if report.failed else DONE)


def _followed(paths: list[str]) -> list[str]:
    from groundgraph.cli.watch import check_followed

    check_followed(paths)
    return paths


def _watch(settings: Settings, source: str | None, given: dict[str, Any], followed: list[str]) -> None:
    from groundgraph.cli.watch import follow
    from groundgraph.settings.knowledge_base import KnowledgeBaseSettings

    def again() -> None:
        report, file = _run(settings, source, given, quiet=True)
        if report.written or report.deleted or report.failed:
            _show(report, file, as_json=False, dry_run=False)

    follow(followed, again, sidecar=(settings.knowledge_base or KnowledgeBaseSettings()).metadata.sidecar)


def take_in(settings: Settings, path: str, *, quiet: bool) -> None:
    """Take the documents at `path` into the knowledge base, and tell how it went."""
    given = {"paths": _paths([path]), "dry_run": False, "rebuild": False, "follow_links": False}
    report, file = _run(settings, None, given, quiet=quiet)
    if not quiet:
        _show(report, file, as_json=False, dry_run=False)


# Options, those that each goes with none of, and what is said then.
_EXCLUDING = (
    ("--dry-run", {"--rebuild"}, "a rebuild cannot be tried out"),
    ("--verify", {"PATH_OR_URL", "--dry-run", "--rebuild"}, "takes nothing in, so it stands alone"),
    (
        "--watch",
        {"--dry-run", "--rebuild", "--verify", "--json"},
        "goes with neither --dry-run, --rebuild, --verify nor --json",
    ),
    (
        "--workers, --shard",
        {"--dry-run", "--rebuild", "--verify", "--watch", "--encoding"},
        "goes with neither --dry-run, --rebuild, --verify, --watch nor --encoding",
    ),
)


def _refuse_together(options: Mapping[str, object]) -> None:
    """Refuses options that exclude each other."""
    given = {option for option, value in options.items() if value}
    for option, others, why in _EXCLUDING:
        if option in given and not given.isdisjoint(others):
            raise typer.BadParameter(why, param_hint=option)


def _default_path(settings: Settings) -> Path | None:
    return settings.knowledge_base.path if settings.knowledge_base else None


def _with_encoding(settings: Settings, encoding: str | None) -> Settings:
    """The settings by which every file is read in `encoding`, where one is given."""
    if encoding is None:
        return settings
    from groundgraph.settings.knowledge_base import KnowledgeBaseSettings, known_encoding

    try:
        encodings = {"**": known_encoding(encoding)}
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--encoding") from None
    base = settings.knowledge_base or KnowledgeBaseSettings()
    return settings.model_copy(update={"knowledge_base": base.model_copy(update={"encodings": encodings})})


def _paths(given: Iterable[str]) -> list[str]:
    """Web addresses as they are; files and folders start from here, not from the configuration."""
    return [path if "://" in path else str(Path.cwd() / path) for path in given]


def _run(
    settings: Settings, source: str | None, given: dict[str, Any], *, quiet: bool, shared: Shared | None = None
) -> tuple[IngestReport, str]:
    from groundgraph.graph.ingest import ingest_graph, run_ingest
    from groundgraph.graph.knowledge_base_files import knowledge_base_file
    from groundgraph.ingest.builtin_chains import chains_without_model

    base = knowledge_base_file(settings, source)
    graph = ingest_graph(settings, source=source, workers=shared.processes if shared else None)
    for notice in chains_without_model(settings):
        note(f"Notice: {notice}")
    if not given["dry_run"] and base.place is None:
        keep_out_of_git(base.path)
    if not quiet:
        _note_missing(settings, given)
    with shown_ingest("Ingesting", quiet=quiet) as on_event:
        if shared and (base.place or not shared.processes):
            work = shared.ingest(settings, source, given, on_event)
        else:
            work = run_ingest(graph, given, on_event=on_event)
        return asyncio.run(work), base.told


def _show(report: IngestReport, file: str, *, as_json: bool, dry_run: bool) -> None:
    if as_json:
        more = {"dry_run": True, "changed": report.changed, "gone": report.gone} if dry_run else {}
        write_json({**report.to_dict(), **more})
    else:
        say(_summary(report, file, dry_run=dry_run))
    tell = note if as_json else say
    if report.ignored:
        kinds = ", ".join(f"{suffix} ({number})" for suffix, number in report.ignored.most_common(10))
        tell(f"Passed over, being no documents: {kinds}")
    _tell_reasons(note, "Warning", report.warnings)
    _tell_reasons(tell, "Skipped", report.skipped)
    _tell_reasons(tell, "Failed", report.failed)


def _note_nothing_found(report: IngestReport) -> None:
    """Tell that the run had nothing to do, which a slip in a path looks like."""
    if not (report.documents or report.failed or report.changed):
        note("Warning: no document was found there, so nothing was taken in.")


def _tell_reasons(tell: Callable[[str], None], label: str, told: Iterable[Reason]) -> None:
    """One line for each reason, with every document that it was told of: thousands of them may lack the same."""
    found: dict[str, list[str]] = {}
    for one in told:
        found.setdefault(one["reason"], []).append(one["document"])
    for reason, names in found.items():
        tell(f"{label}: {', '.join(names)}: {reason}")


def _note_missing(settings: Settings, given: dict[str, Any]) -> None:
    """Tell before the work which files cannot be read for want of a package, and how to get it."""
    lacking = _unreadable_kinds()
    found = _files_by_kind(settings, given["paths"]) if lacking else {}
    if counts := {lacking[kind]: number for kind, number in found.items() if kind in lacking}:
        told = ", ".join(f"{name}: {number}" for name, number in counts.items())
        files_of = counted(sum(counts.values()), "file")
        note(f'{files_of} cannot be read here ({told}). Needed: pip install "groundgraph[documents]"')


def _files_by_kind(settings: Settings, paths: Sequence[str]) -> Mapping[str, int]:
    """How many files of each media type an ingest of `paths`, or of what is configured, finds."""
    from groundgraph.core.document import MEDIA_TYPES
    from groundgraph.ingest.find_files import find_files

    default = _default_path(settings)
    folders = paths or ([str(settings.at(default))] if default else [])
    files = find_files([path for path in folders if "://" not in path], settings.base_dir).files
    return Counter(MEDIA_TYPES[file.path.suffix.lower()] for file in files)


def _unreadable_kinds() -> dict[str, str]:
    """The media types whose packages are not installed, with their names."""
    from groundgraph.ingest.read_file import NEEDED

    return {
        kind: name
        for kind, (name, modules) in NEEDED.items()
        if not all(find_spec(module.partition(".")[0]) for module in modules)
    }


def _summary(report: IngestReport, file: str, *, dry_run: bool) -> str:
    lines = [f"Would write: {name}" for name in report.changed] + [f"Would take out: {name}" for name in report.gone]
    chunks = "" if dry_run else f" in {counted(report.chunks, 'chunk')}"
    lines += [
        f"{'Would be: ' if dry_run else ''}{counted(report.documents, 'document')}{chunks}: "
        f"{report.written} written, {report.unchanged} unchanged, {report.deleted} deleted, "
        f"{len(report.failed)} failed, in {report.seconds:.1f} s.",
        f"Knowledge base: {file}",
    ]
    return "\n".join(lines)


# `groundgraph move`: an embedded knowledge base into Weaviate.


def move(
    file: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="FILE", help="The embedded base. Default: knowledge_base.file.", show_default=False
        ),
    ] = None,
    source: BaseName = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Copy an embedded knowledge base into the one in Weaviate. The configuration names that one.

    Documents, chunks, matching texts and vectors are taken over as they are, so nothing is embedded again and the next
    ingest finds nothing changed. The file stays. A move that was interrupted goes on where it stopped.
    """
    settings = find_settings(config).without_models()
    from groundgraph.graph.knowledge_base_files import knowledge_base_file, weaviate_store

    base = knowledge_base_file(settings, source)
    moved = asyncio.run(_moved(file or base.path, weaviate_store(settings, base), quiet=as_json))
    if as_json:
        write_json(asdict(moved))
    else:
        say(
            f"{counted(moved.documents, 'document')} with {counted(moved.chunks, 'chunk')}: {moved.written} written, "
            f"{moved.unchanged} there already, {len(moved.failed)} failed.\nKnowledge base: {base.told}"
        )
        for name, reason in moved.failed.items():
            say(f"Failed: {name}: {reason}")
    raise typer.Exit(DONE_WITH_FAILURES if moved.failed else DONE)


async def _moved(file: Path, store: WeaviateStore, *, quiet: bool) -> Moved:
    from groundgraph.graph.knowledge_base_files import move_base
    from groundgraph.sources.knowledge_base import EmbeddedStore

    embedded = EmbeddedStore(file)
    try:
        with shown_progress("Moving", quiet=quiet) as on_progress:
            return await move_base(embedded, store, on_progress)
    finally:
        await embedded.close()
        await store.close()
