"""L10: what starting costs: imports, `--help`, the first answer, memory."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.corpus import question
from benchmarks.effort import Effort
from benchmarks.fresh_process import ENVIRONMENT, run_fresh
from benchmarks.report import Row
from benchmarks.setting import SOURCES, TOPICS, memory_source, turn_settings
from benchmarks.turn_shape import shape_of
from groundgraph import turn_graph

HEAVY = ("weaviate", "cohere", "langchain_community", "sqlalchemy", "numpy")
IMPORT_RATIO, HELP_SECONDS, FIRST_RATIO, MEMORY_MB = 1.2, 0.3, 1.3, 30.0

_IMPORT = "started = time.process_time()\n{statement}\nresult['cpu'] = time.process_time() - started\n"
_FIRST = (
    "started = time.process_time()\nfrom benchmarks.first_answer import {name}\n{name}({arguments})\n"
    "result['cpu'] = time.process_time() - started\nresult['mb'] = peak_mb()\n"
)
_HEAVY = "import sys\n{statement}\nresult['heavy'] = sorted(set({names!r}) & set(sys.modules))\n"

STATEMENTS = {
    "langgraph": "import langgraph.graph",
    "import": "import groundgraph",
    "turn": "from groundgraph import turn_graph",
}


def run(effort: Effort) -> list[Row]:
    imports = _imports(effort.processes)
    first = _first_answers(effort.processes)
    return [
        _import_row("import groundgraph", imports, "import"),
        _import_row("from groundgraph import turn_graph", imports, "turn"),
        _heavy_row("import"),
        _heavy_row("turn"),
        _help_row(effort.processes),
        _first_row(first),
        _memory_row(first),
    ]


def _imports(processes: int) -> dict[str, list[float]]:
    """CPU seconds of each statement, one process each, in turn."""
    found: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for _ in range(processes):
        for name, statement in STATEMENTS.items():
            found[name].append(run_fresh(_IMPORT.format(statement=statement))["cpu"])
    return found


def _first_answers(processes: int) -> dict[str, list[dict[str, float]]]:
    graph = turn_graph(turn_settings(), sources=[memory_source(name, range(2)) for name in SOURCES])
    shape = [list(step) for step in asyncio.run(shape_of(graph, question(0, TOPICS))).steps]
    codes = {
        "own": _FIRST.format(name="first_turn", arguments=""),
        "bare": _FIRST.format(name="first_bare_run", arguments=repr(shape)),
    }
    found: dict[str, list[dict[str, float]]] = {name: [] for name in codes}
    for _ in range(processes):
        for name, code in codes.items():
            found[name].append(run_fresh(code))
    return found


def _import_row(what: str, imports: dict[str, list[float]], name: str) -> Row:
    measured, baseline = median(imports[name]), median(imports["langgraph"])
    return _ratio_row(f"CPU of `{what}`", measured, baseline, IMPORT_RATIO, "`import langgraph.graph`")


def _first_row(first: dict[str, list[dict[str, float]]]) -> Row:
    measured, baseline = (median(run["cpu"] for run in first[name]) for name in ("own", "bare"))
    return _ratio_row("CPU up to the first answer of a process", measured, baseline, FIRST_RATIO, "a bare graph")


def _ratio_row(what: str, measured: float, baseline: float, allowed: float, against: str) -> Row:
    return Row(
        "L10",
        what,
        f"{measured:.3f} s",
        f"{baseline:.3f} s, {against}",
        f"{measured / baseline:.2f} times",
        f"{allowed} times",
        measured <= allowed * baseline,
        {"seconds": measured, "bare_seconds": baseline},
    )


def _memory_row(first: dict[str, list[dict[str, float]]]) -> Row:
    measured, baseline = (median(run["mb"] for run in first[name]) for name in ("own", "bare"))
    return Row(
        "L10",
        "peak memory of a process up to its first answer",
        f"{measured:.1f} MB",
        f"{baseline:.1f} MB, a bare graph",
        f"{measured - baseline:+.1f} MB",
        f"+{MEMORY_MB:.0f} MB",
        measured - baseline <= MEMORY_MB,
        {"mb": measured, "bare_mb": baseline},
    )


def _heavy_row(name: str) -> Row:
    statement = STATEMENTS[name]
    heavy: list[Any] = run_fresh(_HEAVY.format(statement=statement, names=HEAVY))["heavy"]
    return Row(
        "L10",
        f"of {', '.join(HEAVY)}, `{statement}` loads",
        ", ".join(heavy) or "none",
        allowed="none" if name == "import" else "",
        ok=not heavy if name == "import" else None,
        values={"heavy": ", ".join(heavy)},
    )


def _help_row(processes: int) -> Row:
    command = [str(Path(sys.executable).parent / "groundgraph"), "--help"]
    times = []
    for _ in range(processes):
        started = time.perf_counter()
        code = subprocess.run(command, env=ENVIRONMENT, capture_output=True, check=False).returncode
        times.append(time.perf_counter() - started)
    measured = median(times)
    return Row(
        "L10",
        "wall time of `groundgraph --help`",
        f"{measured:.2f} s" if code == 0 else f"ends with code {code}",
        allowed=f"{HELP_SECONDS} s",
        ok=code == 0 and measured < HELP_SECONDS,
        values={"seconds": measured, "code": code},
    )
