"""`groundgraph ingest`: documents into the knowledge base."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from groundgraph.cli.exit_codes import DONE, DONE_WITH_FAILURES
from groundgraph.cli.find_settings import find_settings
from groundgraph.cli.knowledge_base_file import keep_out_of_git, knowledge_base_file
from groundgraph.cli.options import AsJson, ConfigFile
from groundgraph.cli.output import counted, note, say, write_json
from groundgraph.cli.progress import shown_progress

if TYPE_CHECKING:
    from groundgraph.core.settings import Settings
    from groundgraph.graph.ingest import IngestReport


def ingest(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH...",
            help="Files and folders. Default: knowledge_base.path of the configuration.",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The knowledge base to fill, when there are several."),
    ] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Take documents into the knowledge base; what did not change since the last time is left as it is.

    Documents of a given folder that are gone are taken out. A document that cannot be read is listed, and the
    others are taken in.
    """
    settings = find_settings(config)
    file = knowledge_base_file(settings, source)
    pages, files = _sorted_paths(paths or [], settings)
    keep_out_of_git(file)
    with shown_progress("Ingesting", quiet=as_json) as on_progress:
        report = asyncio.run(_ingest(file, files, settings, on_progress))
    for page in pages:
        report.fail(page, "web pages cannot be taken in yet; save the page as an HTML file")
    _show(report, file, as_json=as_json)
    raise typer.Exit(DONE_WITH_FAILURES if report.failed else DONE)


def _sorted_paths(given: list[str], settings: Settings) -> tuple[list[str], list[Path]]:
    """Web addresses, and the paths of files and folders: those given from here, those configured from the file."""
    knowledge_base = settings.knowledge_base
    if not given and (knowledge_base is None or knowledge_base.path is None):
        raise typer.BadParameter(
            "name files or folders, or set knowledge_base.path in the configuration", param_hint="PATH"
        )
    if not given and knowledge_base is not None and knowledge_base.path is not None:
        return [], [settings.at(knowledge_base.path)]
    pages = [path for path in given if "://" in path]
    return pages, [Path.cwd() / path for path in given if path not in pages]


async def _ingest(file: Path, paths: list[Path], settings: Settings, on_progress: Any) -> IngestReport:
    from groundgraph.core.settings import ChunkerSettings
    from groundgraph.graph.ingest import ingest_paths

    knowledge_base = settings.knowledge_base
    chunker = knowledge_base.chunker if knowledge_base else ChunkerSettings()
    return await ingest_paths(
        file,
        paths,
        base_dir=settings.base_dir,
        max_chunk_size=chunker.max_chunk_size,
        on_progress=on_progress,
    )


def _show(report: IngestReport, file: Path, *, as_json: bool) -> None:
    if as_json:
        write_json(report.to_dict())
    else:
        say(_summary(report, file))
    for warning in report.warnings:
        note(f"Warning: {warning['document']}: {warning['reason']}")
    for failure in report.failed:
        (note if as_json else say)(f"Failed: {failure['document']}: {failure['reason']}")


def _summary(report: IngestReport, file: Path) -> str:
    lines = [
        f"{counted(report.documents, 'document')} in {counted(report.chunks, 'chunk')}: "
        f"{report.written} written, {report.unchanged} unchanged, {report.deleted} deleted, "
        f"{len(report.failed)} failed, in {report.seconds:.1f} s.",
        f"Knowledge base: {file}",
    ]
    if report.ignored:
        kinds = ", ".join(f"{suffix} ({number})" for suffix, number in report.ignored.most_common(10))
        lines.append(f"Passed over, being no documents: {kinds}")
    return "\n".join(lines)
