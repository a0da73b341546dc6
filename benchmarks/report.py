"""What a benchmark prints."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Row:
    """One figure beside its baseline and its limit.

    Attributes:
        limit: the id of the limit, such as L1.
        what: what was measured.
        measured: groundgraph's figure.
        baseline: bare LangGraph's in the same run; empty where there is nothing to compare with.
        compared: ratio or difference of the two; empty where the limit is absolute.
        allowed: the limit's figure; empty for what is shown for information.
        ok: whether the limit is kept; None where there is none.
        values: the bare numbers, for programs.
    """

    limit: str
    what: str
    measured: str
    baseline: str = ""
    compared: str = ""
    allowed: str = ""
    ok: bool | None = None
    values: dict[str, float | str] = field(default_factory=dict)


_VERDICTS = {True: "[green]ok[/]", False: "[red]over[/]", None: ""}


def show(rows: Sequence[Row]) -> None:
    console = Console(width=None if Console().is_terminal else 170)
    table = Table(title="groundgraph against bare LangGraph, in one run")
    for heading in ("limit", "what", "measured", "baseline", "ratio or difference", "limit's figure", ""):
        table.add_column(heading, overflow="fold")
    last = ""
    for row in rows:
        if last and row.limit != last:
            table.add_section()
        last = row.limit
        cells = (row.limit, row.what, row.measured, row.baseline, row.compared, row.allowed)
        table.add_row(*cells, _VERDICTS[row.ok])
    console.print(table)


def as_json(rows: Sequence[Row]) -> str:
    return json.dumps([asdict(row) for row in rows], indent=1)


def as_markdown(rows: Sequence[Row]) -> str:
    """The table as it stands in this folder's README."""
    headings = ("limit", "what", "measured", "baseline", "ratio or difference", "limit's figure", "")
    lines = ["| " + " | ".join(headings) + " |", "|---" * len(headings) + "|"]
    verdicts = {True: "ok", False: "**over**", None: ""}
    for row in rows:
        cells = (row.limit, row.what, row.measured, row.baseline, row.compared, row.allowed, verdicts[row.ok])
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
