"""The benchmarks run and print a row for every limit. No timing is asserted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# Every benchmark in its quick form takes more than a minute.
pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
LIMITS = ["L1", "L2", "L3", "L4", "L5", "L6", "L8", "L9", "L10", "L11", "L12", "L13", "L15", "L16"]


def benchmarks(*arguments):
    # Warnings are errors in the tests' own process; a benchmark measures what users get.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONWARNINGS"}
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def rows():
    done = benchmarks("--quick", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def of(rows, limit):
    return [row for row in rows if row["limit"] == limit]


def test_there_is_a_row_for_every_limit_in_order(rows):
    assert list(dict.fromkeys(row["limit"] for row in rows)) == LIMITS


@pytest.mark.parametrize("limit", [limit for limit in LIMITS if limit != "L16"])
def test_every_limit_measures_something_against_a_figure(rows, limit):
    assert all(row["what"] and row["measured"] for row in of(rows, limit))
    assert any(row["allowed"] for row in of(rows, limit))


def test_a_hanging_source_is_recorded_and_the_others_evidence_kept(rows):
    hanging = [row["values"] for row in of(rows, "L4") if "status" in row["values"]]
    assert [(values["status"], values["kept"]) for values in hanging] == [("timed_out", 20)] * 2


def test_checkpoints_stay_small_and_evidence_is_stored_once(rows):
    sizes = [row["values"]["kb"] for row in of(rows, "L8") if "kb" in row["values"]]
    first, fifth, first_at_exit, fifth_at_exit = sizes
    assert first <= 50
    assert fifth <= 80
    assert max(first_at_exit, fifth_at_exit) <= 9
    (evidence,) = [row["values"] for row in of(rows, "L8") if "items" in row["values"]]
    assert evidence["items"] == evidence["distinct"]


def test_importing_groundgraph_loads_nothing_heavy(rows):
    heavy = [row["values"]["heavy"] for row in of(rows, "L10") if "heavy" in row["values"]]
    assert heavy[0] == ""


def test_the_table_is_printed():
    done = benchmarks("--quick", "L16")
    assert done.returncode == 0, done.stderr
    assert "make test" in done.stdout


def test_an_unknown_limit_is_named():
    done = benchmarks("L99")
    assert done.returncode == 2
    assert "no benchmark for L99" in done.stderr
    assert "L13" in done.stderr
