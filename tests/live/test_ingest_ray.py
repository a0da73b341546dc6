"""An ingest as tasks of a Ray cluster, without a network: Ray would listen on all of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.live, pytest.mark.slow]
SUPPORT = Path(__file__).parent.parent / "support"
PROGRAM = """
import asyncio, json, sys
from pathlib import Path
import yaml
from killed_workers import KillingEmbeddings
from weaviate_bases import objects_of, weaviate_section
from weaviate_server import running
from groundgraph import load_settings
from groundgraph.graph.ingest_shards import ingest_shards
from groundgraph.graph.knowledge_base_files import knowledge_base_file
from groundgraph.graph.ingest_shards import by_ray, in_turn

folder, binary = map(Path, sys.argv[1:])
marker = folder / "marker"

async def taken_in(name, engine):
    given = {"knowledge_base": {"path": "docs", **weaviate_section(server)}, "intent": {"mode": "static"}}
    file = folder / f"{name}.yaml"
    if not file.exists():
        file.write_text(yaml.safe_dump(given))
    report = await ingest_shards(file, [], engine, embeddings=KillingEmbeddings(marker))
    place = knowledge_base_file(load_settings(file)).place
    chunks, ledger = await objects_of(place, place.chunks(1), vector=True), await objects_of(place, place.documents)
    held = {id_: {**one.properties, "written_at": ""} for id_, one in ledger.items()}
    return report.to_dict(), held | {id_: (one.properties, one.vector) for id_, one in chunks.items()}

with running(binary) as server:
    marker.write_text("nobody is killed")
    _, alone = asyncio.run(taken_in("alone", in_turn))
    marker.unlink()
    report, shared = asyncio.run(taken_in("shared", by_ray))
    again, after = asyncio.run(taken_in("shared", in_turn))
told = {"report": report, "again": again, "same": shared == alone == after, "killed": marker.exists()}
print(json.dumps(told))
"""


def without_network() -> list[str]:
    """How a program is started in a namespace of its own, where nothing but loopback is; empty where that cannot be."""
    start = ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    try:
        return start if subprocess.run([*start, "true"], capture_output=True, check=False).returncode == 0 else []
    except OSError:
        return []


@pytest.mark.covers("K16")
def test_tasks_of_ray_give_the_base_of_one_process_though_one_of_them_is_killed(tmp_path, weaviate_binary) -> None:
    pytest.importorskip("ray")
    (tmp_path / "docs").mkdir()
    for number in range(4):
        about = "a hostile part" if number == 3 else f"oil {number}"
        (tmp_path / "docs" / f"{number}.md").write_text(f"# Manual {number}\n\nThe pump needs {about}.\n")
    environment = {**os.environ, "PYTHONPATH": str(SUPPORT), "HOME": str(tmp_path)}
    command = [*without_network(), sys.executable, "-c", PROGRAM, str(tmp_path), str(weaviate_binary)]
    ran = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    told = json.loads(ran.stdout.splitlines()[-1])
    assert (told["report"]["written"], told["report"]["failed"]) == (4, [])
    assert (told["again"]["written"], told["again"]["unchanged"]) == (0, 4)
    assert told["killed"]
    assert told["same"]
