"""A thousand documents, one of them broken, and a process that is killed again and again (faults 48, 49, 55)."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from interruptible import interruptible
from killed_ingest import embedded, report_of, started

pytestmark = pytest.mark.slow
COUNT = 1_000
BROKEN = 500
KILLS = 6


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the documents; the broken one is no text."""
    folder = tmp_path_factory.mktemp("many")
    (folder / "docs").mkdir()
    for n in range(COUNT):
        path = folder / "docs" / f"{n:05}.md"
        if n == BROKEN:
            path.write_bytes(bytes(range(128, 256)) * 9)
        else:
            path.write_text(f"Document number{n} tells about subject{n % 97}.\n")
    return folder


def start(folder: Path):
    return started(folder, {"knowledge_base": {"file": str(folder / "kb.sqlite"), "path": "docs"}}, {})


def rows(folder: Path) -> dict[str, tuple]:
    """The ledger, and for each document the ids of its chunks."""
    connection = sqlite3.connect(folder / "kb.sqlite")
    try:
        return {
            name: (hash_, written_at, chunks)
            for name, hash_, written_at, chunks in connection.execute(
                "SELECT name, hash, written_at, (SELECT group_concat(position) FROM chunks "
                "WHERE document_id = documents.id) FROM documents"
            )
        }
    except sqlite3.OperationalError:
        return {}
    finally:
        connection.close()


@pytest.mark.covers("fault 48", "fault 49")
def test_killed_six_times_it_ends_with_the_same_base_and_repeats_no_finished_document(documents, tmp_path):
    (tmp_path / "docs").symlink_to(documents / "docs")
    chance = random.Random(17)
    finished: dict[str, tuple] = {}
    killed = 0
    for _ in range(KILLS):
        # From a moment before it has begun to one in the middle of its work.
        until = len(embedded(tmp_path)) + chance.choice([0, 1, 65, 129])
        process = start(tmp_path)
        while len(embedded(tmp_path)) < until and process.is_alive():
            time.sleep(0.005)
        time.sleep(chance.uniform(0.0, 0.1))
        process.kill()
        process.join()
        assert process.exitcode in (0, -signal.SIGKILL)
        killed += process.exitcode == -signal.SIGKILL
        now = rows(tmp_path)
        assert {name: now[name] for name in finished} == finished, "a finished document was written again"
        finished = now
    assert killed >= 5
    assert 0 < len(finished) < COUNT
    report = report_of(start(tmp_path), tmp_path)
    assert (report["documents"], report["unchanged"]) == (COUNT - 1, len(finished))
    assert [entry["document"] for entry in report["failed"]] == [f"docs/{BROKEN:05}.md"]
    now = rows(tmp_path)
    assert now.keys() == {f"docs/{n:05}.md" for n in range(COUNT) if n != BROKEN}
    assert {name: now[name] for name in finished} == finished
    texts = embedded(tmp_path)
    # What is embedded twice was in a batch that a kill kept from being written.
    assert len(texts) - len(set(texts)) <= KILLS * 64
    assert len(set(texts)) == COUNT - 1
    report_of(start(documents), documents)
    straight = rows(documents)
    assert {name: (row[0], row[2]) for name, row in now.items()} == {
        name: (row[0], row[2]) for name, row in straight.items()
    }


@pytest.mark.covers("fault 48")
def test_the_command_says_which_one_is_missing_and_ends_with_1(documents, tmp_path):
    (tmp_path / "docs").symlink_to(documents / "docs")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GROUNDGRAPH_")}
    command = [sys.executable, "-m", "groundgraph", "ingest", "docs", "--json"]
    ran = subprocess.run(command, cwd=tmp_path, env=clean, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    report = json.loads(ran.stdout)
    assert (report["documents"], len(report["failed"])) == (COUNT - 1, 1)
    assert report["failed"][0]["document"].endswith(f"{BROKEN:05}.md")


@pytest.mark.covers("K1")
def test_an_interrupt_ends_the_command_in_order_and_the_next_run_goes_on(documents, tmp_path):
    (tmp_path / "docs").symlink_to(documents / "docs")
    command = [sys.executable, "-m", "groundgraph", "ingest", "docs"]
    with interruptible():
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    base = tmp_path / ".groundgraph" / "knowledge_base.sqlite"
    while process.poll() is None and not (base.exists() and _written(base) > 200):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "Interrupted."
    assert "Traceback" not in errors
    written = _written(base)
    assert 200 < written < COUNT
    ran = subprocess.run([*command, "--json"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (json.loads(ran.stdout)["unchanged"], json.loads(ran.stdout)["documents"]) == (written, COUNT - 1)


def _written(base: Path) -> int:
    connection = sqlite3.connect(base)
    try:
        return int(connection.execute("SELECT count(*) FROM documents").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


# One document at a time, as large as they come in practice; the peak is what the kernel says.
MEMORY = """
import asyncio, sys
from pathlib import Path
from groundgraph.core.document import Document
from groundgraph.graph.ingest import ingest_documents

def texts(total):
    sentence = "Pump {} of hall {} is serviced every {} days by the shift leader of the plant. "
    for n in range(total // 64_000):
        lines = (sentence.format(n * 800 + k, n % 31, k % 90) + ("\\n\\n" if k % 6 == 5 else "") for k in range(800))
        yield Document(f"d{n}", "".join(lines)[:64_000])

report = asyncio.run(ingest_documents(Path(sys.argv[1]), texts(int(sys.argv[2]) * 1_000_000)))
assert not report.failed
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(peak / 1024)
"""


def peak_mb(path: Path, megabytes: int) -> float:
    """The peak of resident memory of an ingest of so much text, in megabytes."""
    command = [sys.executable, "-c", MEMORY, str(path), str(megabytes)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.covers("fault 55")
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from Linux's /proc")
def test_memory_does_not_grow_with_the_input(tmp_path):
    small, large = peak_mb(tmp_path / "small.sqlite", 16), peak_mb(tmp_path / "large.sqlite", 64)
    assert large < 500
    assert large <= small * 1.15 + 10, f"{small:.0f} MB for 16 MB of text, {large:.0f} MB for 64 MB"
