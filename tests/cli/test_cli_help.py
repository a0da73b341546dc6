"""Help, version and the time until they show."""

from __future__ import annotations

import re
import resource
import subprocess
import sys

import pytest

from groundgraph import __version__

COMMANDS = ("demo", "ingest", "ask", "inspect", "sources", "forget", "graph", "doctor", "evaluate", "report")


@pytest.mark.covers("U5")
@pytest.mark.parametrize(
    "command", [*COMMANDS, "documents", *("documents list", "documents show", "documents remove"), "config check"]
)
def test_help_of_every_command_names_the_common_options_and_the_exit_codes(call, command):
    ran = call(*command.split(), "--help")
    assert ran.code == 0
    for expected in ("--config", "--json", "Exit codes:", "needed service is not available"):
        assert expected in ran.out
    assert ("--source" in ran.out) or "documents" not in command
    assert ran.err == ""


def worked_by_children() -> float:
    """The seconds that processes of ours which ended have worked; what else the machine does is no part of them."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.covers("U5")
def test_general_help_lists_the_commands_within_the_limit(start):
    times = []
    for _ in range(6):
        before = worked_by_children()
        ran = start("--help")
        times.append(worked_by_children() - before)
    assert ran.code == 0
    assert all(command in ran.out for command in COMMANDS)
    assert min(times) < 0.3


@pytest.mark.covers("B11")
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_and_options(run, shell):
    assert "groundgraph" in run(_GROUNDGRAPH_COMPLETE=f"source_{shell}").out
    typed = {
        "bash": {"COMP_WORDS": "groundgraph doc", "COMP_CWORD": "1"},
        "zsh": {"_TYPER_COMPLETE_ARGS": "groundgraph doc"},
        "fish": {"_TYPER_COMPLETE_ARGS": "groundgraph doc", "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }[shell]
    found = run(_GROUNDGRAPH_COMPLETE=f"complete_{shell}", **typed)
    assert found.code == 0
    assert {"doctor", "documents"} <= set(re.findall(r"\w+", found.out))


def test_version(start):
    assert start("--version").out == f"groundgraph {__version__}\n"


def test_no_command_is_wrong_use(call):
    ran = call()
    assert (ran.code, ran.out) == (2, "")
    assert "Usage: groundgraph" in ran.err


def test_the_entry_point_loads_no_graph_library():
    code = (
        "import sys, groundgraph.cli.main\n"
        "heavy = ('langgraph', 'langchain', 'langchain_core', 'rich', 'pydantic', 'yaml')\n"
        "print([name for name in sys.modules if name.split('.')[0] in heavy])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
