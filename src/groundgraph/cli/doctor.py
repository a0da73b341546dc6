"""`groundgraph doctor`: can this machine run this configuration; `groundgraph sources`: what can be searched."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from groundgraph.cli.options import AsJson, ConfigFile, find_settings
from groundgraph.cli.output import (
    DONE,
    DONE_WITH_FAILURES,
    UNAVAILABLE,
    counted,
    note,
    on_terminal,
    printable,
    say,
    write_json,
)

if TYPE_CHECKING:
    from groundgraph.cli.doctor_checks import Finding, ProbedSource


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
        from groundgraph.cli.setup_model import set_up

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
    raise typer.Exit(_code(probed))


def _code(probed: list[ProbedSource]) -> int:
    silent = sum(not source.answers for source in probed)
    if not silent:
        return DONE
    return DONE_WITH_FAILURES if silent < len(probed) else UNAVAILABLE


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
