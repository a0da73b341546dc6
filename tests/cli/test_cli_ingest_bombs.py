"""`groundgraph ingest` over files that cost a reader far more than they weigh, and over its end by Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import hostile_pdf
import pytest

pytestmark = pytest.mark.covers("F1")

LIMITS = "knowledge_base:\n  reader: {memory: 300MB, seconds: 3}\n"


@pytest.fixture
def mixed(docs):
    """A folder with two good documents and one that draws itself."""
    (docs / "self.pdf").write_bytes(hostile_pdf.drawing_itself())
    return docs


@pytest.mark.covers("fault 89", "fault 48")
def test_a_file_that_needs_too_much_is_listed_and_the_others_are_in(call, mixed, tmp_path):
    (tmp_path / "groundgraph.yaml").write_text(LIMITS)
    ran = call("ingest", "docs", "--json")
    assert (ran.code, ran.json["documents"]) == (1, 2)
    [failed] = ran.json["failed"]
    assert failed["document"] == "docs/self.pdf"
    assert failed["reason"].startswith(
        ("needed more than 300 MB of memory to read", "could not be read within 3 s; the limit is")
    )
    assert "Traceback" not in ran.err


def children_of(process: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == process and fields[0] != "Z":
            found.append(int(status.parent.name))
    return found


def resident(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (FileNotFoundError, ProcessLookupError):
        return 0


def started(folder: Path, *arguments: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "groundgraph", "ingest", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
@pytest.mark.covers("fault 89")
def test_with_the_defaults_no_process_passes_1200_mb(mixed, tmp_path):
    most = 0
    with started(tmp_path, "docs", "--json") as ingest:
        while ingest.poll() is None:
            most = max([most, *map(resident, [ingest.pid, *children_of(ingest.pid)])])
            time.sleep(0.01)
        out = ingest.stdout.read()
    assert (ingest.returncode, '"written": 2' in out) == (1, True)
    assert "needed more than 1 GB of memory to read" in out
    assert 500e6 < most < 1.2e9


def test_ctrl_c_leaves_no_process_and_no_traceback(mixed, tmp_path):
    with started(tmp_path, "docs/self.pdf") as ingest:
        until = time.monotonic() + 60
        while not (readers := children_of(ingest.pid)) and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.3)
        ingest.send_signal(signal.SIGINT)
        _, err = ingest.communicate(timeout=60)
    assert readers
    assert not [reader for reader in readers if resident(reader)]
    assert ingest.returncode != 0
    assert "Traceback" not in err


# No `if __name__ == "__main__"`: a program that was started anew for each process would print more than once.
PROGRAM = """
from groundgraph import ingest_graph, load_settings
print("once")
report = ingest_graph(load_settings({"knowledge_base": {}})).invoke({"paths": ["docs"]})["report"]
print(report["written"])
"""


def test_a_program_that_ingests_is_not_run_once_more(docs, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("once\n2\n", "")
