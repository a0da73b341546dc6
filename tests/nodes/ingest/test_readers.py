"""Processes that read documents, and what ends them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from multiprocessing import spawn
from pathlib import Path

import hostile_pdf
import pytest
from pydantic import ValidationError

from groundgraph.core.errors import IngestError
from groundgraph.ingest.load_document import load_document
from groundgraph.ingest.readers import Readers
from groundgraph.settings.knowledge_base import ReaderSettings

NO_FILE = "no such file"
MEMORY = "needed more than 100 MB of memory to read"


@pytest.fixture(autouse=True)
def kept_readers():
    """They are ended here as they are shipped."""


@pytest.fixture(scope="module")
def readers():
    pool = Readers(ReaderSettings(memory="100MB", seconds=20), 1)
    yield pool
    pool.close()


@pytest.fixture
def impatient():
    pool = Readers(ReaderSettings(memory="300MB", seconds=0.3), 1)
    yield pool
    pool.close()


def is_there(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    # The second: it ended between opening the file and reading it.
    except (FileNotFoundError, ProcessLookupError):
        return False


def gone_within(process: int, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while is_there(process) and time.monotonic() < until:
        time.sleep(0.02)
    return not is_there(process)


@pytest.mark.covers("F1", "fault 89")
@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ((os.abort,), "reading it ended with SIGABRT: it may be damaged, or need more than 100 MB of memory"),
        ((signal.raise_signal, signal.SIGSEGV), "reading it ended with SIGSEGV"),
        ((os._exit, 3), "reading it ended with exit code 3"),
        ((bytearray, 10**9), MEMORY),
        ((int, "seven"), "ValueError: invalid literal"),
        ((load_document, Path(NO_FILE) / "a.md", "a.md"), "the file cannot be read"),
    ],
    ids=["abort", "segfault", "exit", "memory", "error", "refused"],
)
def test_a_call_that_ends_its_process_fails_alone(readers, call, reason):
    with pytest.raises(IngestError, match=reason):
        readers.call(*call)
    assert readers.call(abs, -7) == 7


@pytest.mark.covers("F1", "fault 89")
def test_a_call_that_hangs_is_ended_in_time(impatient):
    process = impatient.call(os.getpid)
    started = time.monotonic()
    with pytest.raises(IngestError, match=r"could not be read within 0\.3 s"):
        impatient.call(time.sleep, 100)
    assert time.monotonic() - started < 5
    assert not is_there(process)
    assert impatient.call(abs, -7) == 7


@pytest.mark.covers("F1", "fault 89")
def test_a_page_that_hangs_is_ended_in_time(impatient, tmp_path):
    (tmp_path / "self.pdf").write_bytes(hostile_pdf.drawing_itself())
    with pytest.raises(IngestError, match=r"could not be read within 0\.3 s"):
        impatient.call(load_document, tmp_path / "self.pdf", "self.pdf")


@pytest.mark.slow
@pytest.mark.covers("F1", "fault 89")
@pytest.mark.parametrize("make", ["drawing_itself", "of_operators", "of_text", "of_nested_forms"])
def test_a_page_that_grows_is_ended_by_memory_or_time(make, tmp_path):
    sizes = {"of_operators": (100,), "of_text": (100,)}
    (tmp_path / "bomb.pdf").write_bytes(getattr(hostile_pdf, make)(*sizes.get(make, ())))
    pool = Readers(ReaderSettings(memory="200MB", seconds=20), 1)
    with pytest.raises(IngestError, match=r"needed more than 200 MB of memory to read|could not be read within 20 s"):
        pool.call(load_document, tmp_path / "bomb.pdf", "bomb.pdf")
    assert pool.call(abs, -7) == 7
    pool.close()


def test_a_process_is_kept_from_call_to_call():
    # With little memory a process that read much before would be ended as spent.
    pool = Readers(ReaderSettings(), 1)
    assert pool.call(os.getpid) == pool.call(os.getpid) != os.getpid()
    pool.close()


@pytest.mark.covers("K15")
def test_calls_use_as_many_processes_as_there_may_be():
    pool = Readers(ReaderSettings(), 2)
    with ThreadPoolExecutor(5) as threads:
        list(threads.map(lambda _: pool.call(time.sleep, 0.2), range(5)))
        assert 1 <= len({*threads.map(lambda _: pool.call(os.getpid), range(9))}) <= 2
    assert len(pool._all) == 2
    pool.close()


def test_a_call_waits_no_longer_for_a_free_process_than_it_may():
    pool = Readers(ReaderSettings(), 1, patience=0.1)
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(pool.call, time.sleep, 1)
        while not pool._all or pool._idle:
            time.sleep(0.01)
        with pytest.raises(IngestError, match=r"no process was free to read it within 0\.1 s"):
            pool.call(os.getpid)
        call.result(timeout=30)
    assert pool.call(abs, -7) == 7
    pool.close()


def test_what_a_parser_prints_goes_nowhere(readers, capfd):
    assert readers.call(os.write, 1, b"printed") == 7
    assert readers.call(os.write, 2, b"printed") == 7
    assert readers.call(os.read, 0, 5) == b""
    assert tuple(capfd.readouterr()) == ("", "")


def test_a_process_that_reads_loads_nothing_of_models_and_graphs():
    named = "langchain_core", "langgraph", "pydantic", "jinja2", "requests", "sqlite3"
    with closing(Readers(ReaderSettings(), 1)) as pool:
        assert pool.call(eval, f"[name for name in {named} if name in __import__('sys').modules]") == []


def test_nothing_outlives_the_end_of_the_readers():
    pool = Readers(ReaderSettings(), 2)
    with ThreadPoolExecutor(1) as threads:
        idle = pool.call(os.getpid)
        call = threads.submit(pool.call, time.sleep, 100)
        while not pool._all or pool._idle:
            time.sleep(0.01)
        pool.close()
        assert gone_within(idle, 5)
        with pytest.raises(IngestError):
            call.result(timeout=5)
    with pytest.raises(IngestError, match="the ingest was ended"):
        pool.call(os.getpid)


ASKING = """
import os, threading, time
from groundgraph.settings.knowledge_base import ReaderSettings
from groundgraph.ingest.readers import Readers
pool = Readers(ReaderSettings(), 1)
print(pool.call(os.getpid), flush=True)
threading.Thread(target=pool.call, args=(time.sleep, 100)).start()
time.sleep(100)
"""


def test_no_process_is_left_when_the_asking_one_is_killed():
    with subprocess.Popen([sys.executable, "-c", ASKING], stdout=subprocess.PIPE) as asking:
        process = int(asking.stdout.readline())
        time.sleep(0.1)
        assert is_there(process)
        asking.kill()
    assert gone_within(process, 5)


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("/nowhere/python", "no process to read it in could be started: .*No such file"),
        ("/bin/false", "the process to read it in did not start: exit code 1, no message"),
        ("", "no process to read it in could be started"),
    ],
)
def test_a_python_that_cannot_be_started_is_told(program, reason, monkeypatch):
    monkeypatch.setattr(spawn, "get_executable", lambda: program)
    pool = Readers(ReaderSettings(), 1)
    with pytest.raises(IngestError, match=reason):
        pool.call(abs, -7)
    pool.close()


def test_a_start_that_fails_tells_its_last_line(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(IngestError, match=r"did not start: exit code 1, .*No module named"):
        Readers(ReaderSettings(), 1).call(abs, -7)


def test_limits_that_no_process_could_keep_are_refused():
    assert ReaderSettings(memory="2GiB", seconds=0.5).memory == 2 * 2**30
    for wrong in ({"memory": "10MB"}, {"memory": "much"}, {"seconds": 0}):
        with pytest.raises(ValidationError):
            ReaderSettings(**wrong)
