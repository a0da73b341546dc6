"""`groundgraph doctor`: can this machine run this configuration; with `--setup`, from nothing to a configured model;
`groundgraph sources`: what can be searched."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from groundgraph.cli.options import AsJson, ConfigFile, find_settings
from groundgraph.cli.output import (
    DONE,
    DONE_WITH_FAILURES,
    code_of_parts,
    counted,
    note,
    on_terminal,
    printable,
    say,
    write_json,
)

if TYPE_CHECKING:
    from groundgraph.cli.doctor_checks import Finding, ProbedSource

FILE = Path("groundgraph.yaml")


@dataclass(frozen=True)
class Choice:
    """A way to a chat model.

    Attributes:
        title: what a newcomer reads.
        provider: of the section `llm`; empty for no model.
        model: the name that is proposed.
        address: the `base_url` that is proposed; empty where nobody has to name one.
        key: the variable that holds the key.
    """

    title: str
    provider: str = ""
    model: str = ""
    address: str = ""
    key: str = ""


CHOICES = (
    Choice("no model: answers quote the evidence"),
    Choice("Ollama, on this machine", "ollama", "qwen3:8b", "http://127.0.0.1:11434"),
    Choice("a server with OpenAI's protocol (llama.cpp, vLLM, LM Studio)", "openai", "", "http://127.0.0.1:8080/v1"),
    Choice("OpenAI", "openai", "gpt-5-mini", key="OPENAI_API_KEY"),
    Choice("Anthropic", "anthropic", "claude-sonnet-4-5", key="ANTHROPIC_API_KEY"),
    Choice("Google", "google_genai", "gemini-2.5-flash", key="GOOGLE_API_KEY"),
    Choice("Mistral", "mistralai", "mistral-small-latest", key="MISTRAL_API_KEY"),
)


def set_up() -> bool:
    """Ask which models there are and write `groundgraph.yaml` in this folder; whether it was written.

    A file that is there stays as it is, and what would be written is shown.

    Raises:
        ConfigurationError: what was answered cannot work.
    """
    import yaml

    from groundgraph.settings.load_settings import load_settings

    chosen = _chosen()
    sections = {**_chat(chosen), **_embeddings()}
    load_settings(sections)
    text = yaml.safe_dump(sections, sort_keys=False, allow_unicode=True) if sections else "{}\n"
    written = not FILE.exists()
    if written:
        FILE.write_text(text, "utf-8")
    say(f"\n{FILE} is written:\n" if written else f"\n{FILE} is there already and stays as it is. Put into it:\n")
    say(text)
    if chosen.key:
        say(f"The key is read from the variable {chosen.key}, never from the file.\n")
    return written


def _chosen() -> Choice:
    say("Which model writes the answers?")
    for number, choice in enumerate(CHOICES, 1):
        say(f"  {number}  {choice.title}")
    while True:
        given = typer.prompt("Number", default=1)
        if 1 <= given <= len(CHOICES):
            return CHOICES[given - 1]
        say(f"There are {len(CHOICES)} of them.")


def _chat(chosen: Choice) -> dict[str, Any]:
    if not chosen.provider:
        return {}
    model = typer.prompt("Name of the model", default=chosen.model or None)
    section = {"provider": chosen.provider, "model": model}
    if chosen.address:
        section["base_url"] = typer.prompt("Address", default=chosen.address)
    return {"llm": section, "synthesis": {"style": "conversational", "require_citations": True}}


def _embeddings() -> dict[str, Any]:
    say("\nSearch by meaning too? A folder of an embedding model for fastembed (model.onnx, tokenizer.json, ...).")
    folder = typer.prompt("Folder, or nothing", default="", show_default=False).strip()
    if not folder:
        return {}
    name = typer.prompt("Name of the model", default=Path(folder).name)
    return {"embeddings": {"provider": "fastembed", "model": name, "folder": folder}}


def doctor(
    config: ConfigFile = None,
    setup: Annotated[
        bool, typer.Option("--setup", help="Ask first which models there are, and write groundgraph.yaml here.")
    ] = False,
    tries: Annotated[
        bool, typer.Option("--try", help="Call each configured model once, with its key, for a word or a vector.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Say whether everything that is needed is there. Looked at are Python, packages, SQLite, folders,
    knowledge bases, sources, models and the server.

    Without --setup nothing is written, and without --try no model is called. Every line says `ok`, `warn` or `fail`,
    and what to do. Ends with 1 when something fails.
    """
    from groundgraph.cli.doctor_checks import FILL, examine

    if setup:
        set_up()
    settings = find_settings(config)
    findings = asyncio.run(examine(settings, tries=tries))
    failed = sum(finding.state == "fail" for finding in findings)
    if as_json:
        write_json({"ok": not failed, "checks": [vars(finding) for finding in findings]})
    else:
        for finding in findings:
            say(_line(finding))
        unfilled = any(finding.todo == FILL for finding in findings)
        there = "Everything that is needed is there" + (f", but no documents yet: {FILL}" if unfilled else ".")
        say(f"\n{counted(failed, 'failure')}." if failed else f"\n{there}")
    raise typer.Exit(DONE_WITH_FAILURES if failed else DONE)


def _line(finding: Finding) -> str:
    todo = f"\n      {finding.todo}" if finding.todo else ""
    return f"{finding.state:<4}  {finding.check}: {finding.message}{todo}"


# `groundgraph sources`: what can be searched.

_COLUMNS = ("name", "type", "weight", "fields", "documents", "chunks", "answers")


def sources(config: ConfigFile = None, as_json: AsJson = False) -> None:
    """List the sources, and whether each of them answers. A query of each may take 2 seconds.

    Ends with 1 when some do not answer, with 3 when none does.
    """
    settings = find_settings(config)
    from groundgraph.cli.doctor_checks import probe_sources

    probed = asyncio.run(probe_sources(settings))
    if as_json:
        write_json({"sources": [source.to_dict() for source in probed]})
    else:
        show_sources(probed)
    answered = sum(source.answers for source in probed)
    raise typer.Exit(code_of_parts(len(probed) - answered, answered))


def _row(source: ProbedSource) -> tuple[str, ...]:
    fields = ", ".join(f"{name} ({kind})" if kind else name for name, kind in source.fields.items())
    answers = f"in {source.milliseconds:.0f} ms" if source.answers else "no"
    counts = ("?" if number is None else str(number) for number in (source.documents, source.chunks))
    return (source.name, source.type, str(source.weight), fields or "-", *counts, answers)


def show_sources(probed: list[ProbedSource]) -> None:
    """Print each source with its size, and why it does not answer where it does not."""
    rows = [_row(source) for source in probed]
    if on_terminal():
        _show_table(rows)
    else:
        for row in (_COLUMNS, *rows):
            say("\t".join(row))
    for source in probed:
        if source.reason:
            note(f"{source.name}: {source.reason}")


def _show_table(rows: list[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(*_COLUMNS)
    for row in rows:
        table.add_row(*map(printable, row))
    Console().print(table, markup=False)
