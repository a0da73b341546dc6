"""Proves that a rebuilding changed nothing by accident: what an older commit gives is compared with the present.

    .venv/bin/python scripts/golden.py record /tmp/now

records what every kind of source finds, the pictures of the graphs, every prompt that is sent to a model, and the
records of turns of all kinds. The same script records an older commit when the Python of its worktree runs it:

    git worktree add -q ../before COMMIT && (cd ../before && make setup)
    ../before/.venv/bin/python scripts/golden.py record /tmp/before
    .venv/bin/python scripts/golden.py compare /tmp/before /tmp/now

`compare` prints what differs, and ends with 1 when anything does; each difference is explained in
`docs/decisions/rebuilding.md`, line by line. Two recordings of one commit are equal; each takes about three minutes on
two cores. PostgreSQL and Weaviate are used where `--postgres` and `--weaviate` say they are, else servers are started
for the time of the recording; what cannot run is listed in `skipped.json`, and told by `compare`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

# Read when LangGraph is imported.
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
os.environ["LANGSMITH_TRACING"] = "false"
# A prompt is fenced by a secret of the process; one that is set makes every recording say the same.
os.environ["GROUNDGRAPH_FENCE_SECRET"] = "golden"

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("GROUNDGRAPH_DATA", ROOT.parent / "shared" / "data"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Record or compare; 1 when a comparison finds a difference."""
    given = _parser().parse_args(arguments)
    if given.command == "compare":
        from golden.compare import compare

        return compare(given.old, given.new, at_most=given.lines)
    from golden.record import record
    from golden.workshop import Places

    places = Places(given.data, given.questions, given.postgres, given.weaviate, given.weaviate_grpc)
    record(given.folder, places, only=given.only)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="golden.py", description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="write what this checkout gives")
    recording.add_argument("folder", type=Path, help="is made, or emptied of an earlier recording")
    recording.add_argument("--only", nargs="+", default=["*"], help="patterns of names, such as 'found/sql*' 'turns/*'")
    recording.add_argument("--data", type=Path, default=DATA, help="the folder of the public sets")
    recording.add_argument("--questions", type=int, default=300, help="the most questions of one set")
    recording.add_argument("--postgres", help="postgresql://user@host/database, of which tables golden_* are made anew")
    recording.add_argument("--weaviate", help="http://host:port, of which collections Golden* are made anew")
    recording.add_argument("--weaviate-grpc", type=int, default=50051, help="its port of gRPC")
    comparing = commands.add_parser("compare", help="print what differs")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    comparing.add_argument("--lines", type=int, default=40, help="the most lines printed of one file")
    return parser


if __name__ == "__main__":
    sys.exit(main())
