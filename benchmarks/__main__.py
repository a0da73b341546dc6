"""Run benchmarks: all of them, or those whose limits are named.

::

    python -m benchmarks
    python -m benchmarks L1 L8
    python -m benchmarks --quick --json
"""

from __future__ import annotations

import os

# LangGraph reads these when it is imported.
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
os.environ["LANGSMITH_TRACING"] = "false"

import argparse
import importlib
import sys

from benchmarks.effort import FULL, QUICK
from benchmarks.limits import BY_NAME_ONLY, LIMITS
from benchmarks.report import Row, as_json, as_markdown, show


def main(arguments: list[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    modules = {**LIMITS, **BY_NAME_ONLY}
    unknown = sorted(set(given.limits) - set(modules))
    if unknown:
        print(f"There is no benchmark for {', '.join(unknown)}. Known: {', '.join(modules)}.", file=sys.stderr)
        return 2
    rows: list[Row] = []
    for limit in given.limits or LIMITS:
        print(f"measuring {limit} ...", file=sys.stderr, flush=True)
        rows += importlib.import_module(f"benchmarks.{modules[limit]}").run(QUICK if given.quick else FULL)
    if given.json:
        print(as_json(rows))
    elif given.markdown:
        print(as_markdown(rows))
    else:
        show(rows)
    return 0


_LIMITS_HELP = f"any of {', '.join(LIMITS)}; default all these. Only when named: {', '.join(BY_NAME_ONLY)}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument(
        "limits",
        nargs="*",
        metavar="LIMIT",
        help=f"any of {', '.join(LIMITS)}; default all these. Only when named: {', '.join(BY_NAME_ONLY)}",
    )
    parser.add_argument("--quick", action="store_true", help="few repetitions: shows that it runs, not how fast")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON in place of the table")
    parser.add_argument("--markdown", action="store_true", help="print the table for README.md")
    return parser


if __name__ == "__main__":
    sys.exit(main())
