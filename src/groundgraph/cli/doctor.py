"""`groundgraph doctor`: can this machine run this configuration."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import typer

from groundgraph.cli.options import AsJson, ConfigFile, find_settings, problems_placed
from groundgraph.cli.output import DONE, DONE_WITH_FAILURES, counted, say, write_json

if TYPE_CHECKING:
    from groundgraph.cli.doctor_checks import Finding


def doctor(config: ConfigFile = None, as_json: AsJson = False) -> None:
    """Check Python, packages, SQLite, folders, knowledge bases, sources, models and the server.

    Nothing is written, and no model is called. Every line says `ok`, `warn` or `fail`, and what to do. Ends with 1
    when something fails.
    """
    from groundgraph.cli.doctor_checks import examine

    settings = find_settings(config)
    with problems_placed(settings):
        findings = asyncio.run(examine(settings))
    failed = sum(finding.state == "fail" for finding in findings)
    if as_json:
        write_json({"ok": not failed, "checks": [vars(finding) for finding in findings]})
    else:
        for finding in findings:
            say(_line(finding))
        say(f"\n{counted(failed, 'failure')}." if failed else "\nEverything that is needed is there.")
    raise typer.Exit(DONE_WITH_FAILURES if failed else DONE)


def _line(finding: Finding) -> str:
    todo = f"\n      {finding.todo}" if finding.todo else ""
    return f"{finding.state:<4}  {finding.check}: {finding.message}{todo}"
