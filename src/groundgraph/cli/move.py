"""`groundgraph move`: an embedded knowledge base into Weaviate."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundgraph.cli.options import AsJson, BaseName, ConfigFile, find_settings, problems_placed
from groundgraph.cli.output import DONE, DONE_WITH_FAILURES, counted, say, write_json
from groundgraph.cli.progress import shown_progress

if TYPE_CHECKING:
    from groundgraph.graph.move_base import Moved
    from groundgraph.sources.weaviate_base import WeaviateStore


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
    """Copy an embedded knowledge base into the one in Weaviate that the configuration names.

    Documents, chunks, matching texts and vectors are taken over as they are, so nothing is embedded again and the next
    ingest finds nothing changed. The file stays. A move that was interrupted goes on where it stopped.
    """
    settings = find_settings(config).without_models()
    from groundgraph.graph.knowledge_base_files import knowledge_base_file, weaviate_store

    with problems_placed(settings):
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
    from groundgraph.graph.move_base import move_base
    from groundgraph.sources.knowledge_base import EmbeddedStore

    embedded = EmbeddedStore(file)
    try:
        with shown_progress("Moving", quiet=quiet) as on_progress:
            return await move_base(embedded, store, on_progress)
    finally:
        await embedded.close()
        await store.close()
