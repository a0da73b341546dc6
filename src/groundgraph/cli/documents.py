"""`groundgraph documents`: what the knowledge base holds."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from groundgraph.cli.options import AsJson, BaseName, ConfigFile, find_settings
from groundgraph.cli.output import DONE, DONE_WITH_FAILURES, EPILOG, counted, note, say, shortened, write_json

if TYPE_CHECKING:
    from groundgraph.core.document import Document
    from groundgraph.core.knowledge_store import PreparedChunk, StoredDocument
    from groundgraph.graph.knowledge_base import KnowledgeBase

documents_app = typer.Typer(
    name="documents",
    help="List, show and remove the documents of the knowledge base.",
    invoke_without_command=True,
    rich_markup_mode=None,
    epilog=EPILOG,
)

Id = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="The document as `documents list` names it, or the path of its file.", show_default=False
    ),
]


@documents_app.callback()
def _documents(
    context: typer.Context, source: BaseName = None, config: ConfigFile = None, as_json: AsJson = False
) -> None:
    """List, show and remove the documents of the knowledge base; without a command they are listed."""
    if context.invoked_subcommand is None:
        list_(source, config, as_json)


@documents_app.command("list", epilog=EPILOG)
def list_(source: BaseName = None, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """List every document. Each has its kind, its chunks and when it was written."""
    base, file, _ = _base(config, source)
    rows = asyncio.run(base.adocuments())
    if as_json:
        write_json({"documents": [_listed(row) for row in rows]})
    else:
        for row in rows:
            say("\t".join((row.name, row.kind, counted(row.chunks, "chunk"), row.written_at, row.title)))
        note(f"{counted(len(rows), 'document')} in {file}")
    raise typer.Exit(DONE)


@documents_app.command(epilog=EPILOG)
def show(id: Id, source: BaseName = None, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Show one document. There are its text as it was loaded, its pages or records, and its chunks with their offsets.

    `start` and `end` count Unicode characters of the text. A citation of a page counts from where the page begins,
    which is `origin`.
    """
    base, file, folder = _base(config, source)
    document, chunks = asyncio.run(_found(base, id, folder))
    if document is None:
        note(f"There is no document '{id}' in {file}.")
        if as_json:
            write_json({"document": id, "found": False})
        raise typer.Exit(DONE_WITH_FAILURES)
    if as_json:
        write_json(_shown(document, chunks))
    else:
        _say(document, chunks)
    raise typer.Exit(DONE)


@documents_app.command(epilog=EPILOG)
def remove(id: Id, source: BaseName = None, config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Remove one document with its chunks. A file that is still in its folder comes back with the next ingest."""
    base, file, folder = _base(config, source)
    removed = asyncio.run(_removed(base, id, folder))
    if as_json:
        write_json({"document": id, "removed": removed})
    elif removed:
        say(f"Removed '{id}'.")
    if not removed:
        note(f"There is no document '{id}' in {file}.")
    raise typer.Exit(DONE if removed else DONE_WITH_FAILURES)


def _base(config: Path | None, source: str | None) -> tuple[KnowledgeBase, str, Path]:
    """The knowledge base of the configuration, where it is, and the folder from which its documents are named; no model
    is needed to look at it."""
    settings = find_settings(config).without_models()
    from groundgraph.graph.knowledge_base import KnowledgeBase
    from groundgraph.graph.knowledge_base_files import knowledge_base_file

    file = knowledge_base_file(settings, source)
    return KnowledgeBase.open(settings, source=source), file.told, settings.base_dir


def _names(id: str, folder: Path) -> tuple[str, ...]:
    """What a document may be called that is named `id`: that, or the file that an ingest finds at that path."""
    from groundgraph.ingest.find_files import document_name

    return tuple(dict.fromkeys((id, document_name(Path(id), folder))))


async def _found(base: KnowledgeBase, id: str, folder: Path) -> tuple[Document | None, list[PreparedChunk]]:
    for name in _names(id, folder):
        if document := await base.adocument(name):
            return document, await base.achunks(name)
    return None, []


async def _removed(base: KnowledgeBase, id: str, folder: Path) -> bool:
    for name in _names(id, folder):
        if await base.aremove(name):
            return True
    return False


def _listed(row: StoredDocument) -> dict[str, Any]:
    return {
        "id": row.id,
        "document": row.name,
        **{name: value for name, value in asdict(row).items() if name not in ("name", "hash")},
    }


def _shown(document: Document, chunks: list[PreparedChunk]) -> dict[str, Any]:
    return {
        "document": document.name,
        "kind": document.kind,
        "title": document.title,
        "media_type": document.media_type,
        "metadata": document.metadata,
        "text": document.text,
        "parts": [asdict(part) for part in document.parts],
        "chunks": [_chunk(prepared) for prepared in chunks],
    }


def _chunk(prepared: PreparedChunk) -> dict[str, Any]:
    chunk = prepared.chunk
    return {
        "id": chunk.chunk_id,
        "start": chunk.start,
        "end": chunk.end,
        "origin": chunk.origin,
        "derived": chunk.derived,
        "headings": list(chunk.headings),
        "metadata": chunk.metadata,
        "text": chunk.text,
        "qualifying_text": prepared.qualifying_text,
        "matching_texts": list(prepared.matching_texts),
    }


def _say(document: Document, chunks: list[PreparedChunk]) -> None:
    fields = ", ".join(f"{name}: {value}" for name, value in document.metadata.items())
    say(
        f"{document.name} ({document.kind})\n{fields}\n"
        f"{len(document.text)} characters, {counted(len(chunks), 'chunk')}:"
    )
    for prepared in chunks:
        chunk = prepared.chunk
        say(f"\n{chunk.chunk_id} [{chunk.start}:{chunk.end}] {' > '.join(chunk.headings)}".rstrip())
        say(f"  {shortened(chunk.text, 200)}")
