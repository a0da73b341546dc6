"""`groundgraph demo`: the whole way from documents to checked answers, without a key and without a network."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from groundgraph.cli.options import AsJson, find_settings
from groundgraph.cli.output import DONE, counted, expected_failures, note, say, write_json
from groundgraph.cli.progress import shown_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundgraph.cli.demo.turns import DemoTurn
    from groundgraph.core.document import Document
    from groundgraph.core.embedder import Embedder
    from groundgraph.settings.settings import Settings

KEYS = ("question", "outcome", "answer", "notes", "citations")

_BY_WORDS = "Searches by words; by meaning too, where GROUNDGRAPH_MODEL_FOLDER names the folder of an embedding model."
_BY_MEANING = "Searches by words, and the packages by meaning too, through {name}, which takes minutes to embed them."

NEXT = """What to try next

  groundgraph ingest docs/                    your own Markdown, text and reStructuredText
  groundgraph ask "What is our refund policy?"
  groundgraph inspect "refund"                what was found, and what an answer would use

  In Python:

    import asyncio
    from groundgraph import InMemorySource, turn_graph

    source = InMemorySource(["Refunds are paid within 14 days."], name="policies")
    graph = turn_graph(sources=[source])  # for a file: turn_graph(load_settings("groundgraph.yaml"))
    turn = asyncio.run(graph.ainvoke({"question": "When are refunds paid?"}))
    print(turn["answer"], turn["citations"], turn["outcome"])
"""


def demo(
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Let the models of this configuration write the answers. Without it the demo uses no model, no "
            "key and no network, and reads no configuration file.",
        ),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            file_okay=False,
            help="Only write the documents of the demo here, for `ingest` or `serve`.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what groundgraph does, on documents already here. They are on every machine that has it.

    Takes the descriptions of the installed packages and groundgraph's own documentation into two temporary
    knowledge bases, and what is installed into a table, and asks questions: one that a source answers, one that two
    sources answer together, three of the table, one that nothing covers, and two while sources are down.
    """
    from groundgraph.cli.demo.turns import demo_settings

    if to is not None:
        written = _write(to)
        note(f"Wrote {counted(written, 'document')} to {to}.")
        if as_json:
            write_json({"documents": written})
        raise typer.Exit(DONE)
    chosen = find_settings(config) if config else None
    settings = demo_settings(chosen)
    with expected_failures():
        turns = asyncio.run(_run(settings, as_json=as_json))
    if as_json:
        write_json({"turns": [_json(turn) for turn in turns]})
    else:
        say(NEXT)
    raise typer.Exit(DONE)


def _write(folder: Path) -> int:
    """Writes the documents of the demo, a file each; how many they are."""
    from groundgraph.cli.demo.documents import own_documents, package_documents
    from groundgraph.core.document import MEDIA_TYPES

    suffixes = {media_type: suffix for suffix, media_type in reversed(MEDIA_TYPES.items())}
    documents = [*package_documents(), *own_documents()]
    folder.mkdir(parents=True, exist_ok=True)
    for document in documents:
        name = document.name.removesuffix(suffixes[document.media_type])
        (folder / f"{name}{suffixes[document.media_type]}").write_text(document.text, "utf-8", "replace")
    return len(documents)


def _json(turn: DemoTurn) -> dict[str, Any]:
    found = {"question": turn.question, **turn.output}
    return {**{key: found[key] for key in KEYS}, "seconds": round(turn.seconds, 3)}


async def _run(settings: Settings, *, as_json: bool) -> list[DemoTurn]:
    from tempfile import TemporaryDirectory

    from groundgraph.cli.demo.documents import own_documents, package_documents
    from groundgraph.cli.demo.turns import GROUNDGRAPH, PACKAGES, QUESTIONS, demo_embedder, opened_sources, take_turn

    turns: list[DemoTurn] = []
    embedder = demo_embedder()
    if not as_json:
        say(_BY_MEANING.format(name=embedder.name) if embedder else _BY_WORDS)
    with TemporaryDirectory(prefix="groundgraph-demo-") as folder:
        files = {name: Path(folder, f"{name}.sqlite") for name in (PACKAGES, GROUNDGRAPH)}
        await _fill(files[PACKAGES], "descriptions of installed packages", package_documents(), embedder, quiet=as_json)
        await _fill(files[GROUNDGRAPH], "pages about groundgraph itself", own_documents(), None, quiet=as_json)
        async with opened_sources(files, embedder) as sources:
            for number, question in enumerate(QUESTIONS, 1):
                turns.append(await take_turn(settings, question, sources, turns[-1] if turns else None))
                if not as_json:
                    _print(number, turns[-1])
    return turns


async def _fill(
    file: Path, what: str, documents: Sequence[Document], embedder: Embedder | None, *, quiet: bool
) -> None:
    from groundgraph.graph.ingest import ingest_documents

    with shown_progress("Taking in " + what, quiet=quiet) as on_progress:
        report = await ingest_documents(file, documents, embedder=embedder, on_progress=on_progress)
    if not quiet:
        chunks = counted(report.chunks, "chunk")
        say(f"Took in {report.documents} {what}: {chunks} in {report.seconds:.2f} s.")


def _print(number: int, turn: DemoTurn) -> None:
    from groundgraph.cli.show_turn import print_panel

    say(f"\n{number}. {turn.shows}\n")
    print_panel(turn.question, turn.output, turn.seconds)
