"""Writes what follows from the code into the files of the server: python scripts/server_files.py.

The types that a checkpoint may hold (`CHECKPOINT_TYPES`) go into each `langgraph.json`, and what `langgraph dockerfile`
makes of that into the `Dockerfile` beside it. `tests/graph/test_server_files.py` compares them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PROJECTS = (ROOT / "langgraph.json", ROOT / "examples" / "serve" / "langgraph.json")


def checkpoint_types() -> list[list[str]]:
    """The module and name of every type of ours in a channel that checkpoints hold, in any graph of the server.

    Types that LangGraph always reads are left out. What this gives has to stand in `CHECKPOINT_TYPES` of the package,
    by which its own savers read too.
    """
    from langgraph._internal._serde import collect_allowlist_from_schemas
    from langgraph.channels import EphemeralValue, UntrackedValue
    from langgraph.checkpoint.serde._msgpack import SAFE_MSGPACK_TYPES

    from groundgraph.graph import server

    found: set[tuple[str, ...]] = set()
    for graph in (server.turn, server.retrieval, server.ingest, server.ask):
        kept = {
            name: channel
            for name, channel in graph.channels.items()
            if not isinstance(channel, UntrackedValue | EphemeralValue)
        }
        found |= collect_allowlist_from_schemas(channels=kept)
    return [list(one) for one in sorted(found - SAFE_MSGPACK_TYPES)]


def with_types(project: Path, types: list[list[str]]) -> str:
    """The text of a `langgraph.json` with `types` as all that may be read from a checkpoint."""
    config: dict[str, Any] = json.loads(project.read_text("utf-8"))
    config["checkpointer"]["serde"]["allowed_msgpack_modules"] = types or None
    return json.dumps(config, indent=2) + "\n"


def dockerfile(project: Path) -> str:
    """What `langgraph dockerfile` writes for a clean checkout of this repository."""
    with tempfile.TemporaryDirectory() as place:
        checkout = Path(place) / "groundgraph"
        shutil.copytree(ROOT / "examples" / "serve", checkout / "examples" / "serve")
        for name in _top_level():
            if (ROOT / name).is_file():
                shutil.copy(ROOT / name, checkout / name)
            else:
                (checkout / name).mkdir(exist_ok=True)
        written = checkout / "written"
        command = [str(Path(sys.executable).parent / "langgraph"), "dockerfile", str(written)]
        config = checkout / project.relative_to(ROOT)
        subprocess.run([*command, "--config", str(config)], check=True, capture_output=True, cwd=checkout)
        return written.read_text("utf-8")


def _top_level() -> list[str]:
    """The names at the top of this repository, without what git ignores."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout.split("\n")
    return sorted({Path(name).parts[0] for name in listed if name and (ROOT / name).exists()})


def main() -> None:
    """Writes all of them."""
    from groundgraph.storage.checkpoint_serializer import CHECKPOINT_TYPES

    types = [list(one) for one in CHECKPOINT_TYPES]
    if types != checkpoint_types():
        raise SystemExit(f"CHECKPOINT_TYPES is not what the channels hold; set it to {checkpoint_types()}")
    for project in PROJECTS:
        project.write_text(with_types(project, types), "utf-8")
        project.with_name("Dockerfile").write_text(dockerfile(project), "utf-8")


if __name__ == "__main__":
    main()
