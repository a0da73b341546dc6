"""Settings of the whole suite: strict serialisation, no tracing, public data where it is."""

from __future__ import annotations

import gc
import os
import random
import shutil
from collections.abc import Generator
from pathlib import Path

# Both are read when LangGraph is imported.
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
os.environ["LANGSMITH_TRACING"] = "false"
# Read when gRPC is: with it a forked process starts gRPC's threads anew, and one in two thousand of those that were to
# become PostgreSQL (which a root user starts by fork) aborted in them before it was.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "false"

import pytest
from chromium import chromium  # noqa: F401 - one browser for all folders
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from kept_readers import kept_readers, readers_of_the_session  # noqa: F401 - one set of processes for all folders
from known_once import known_once  # noqa: F401 - in all folders
from opened_page import forgotten, opened, page, page_address  # noqa: F401 - one page for both kinds of servers
from weaviate_fixtures import own_server, weaviate_binary, weaviate_server  # noqa: F401 - one server for all folders

from examples import ALL, examples
from groundgraph.core import secret_mask

# Until all tests are collected: what is loaded is no garbage, and looking for some takes an eighth of that time.
gc.disable()
ROOT = Path(__file__).resolve().parent.parent

# One text or number in forty would be one that stands in the modules loaded so far, which are others in each process:
# then a test has other examples alone than after others. No setting turns that off; a name that is gone is an error.
pytest.MonkeyPatch().setattr(providers, "_get_local_constants", lambda: providers._local_constants)
EXPLORED = "runs with new examples"
# A sixth of the time of tests that write is waiting for the disk. What a killed process leaves is the same in memory.
MEMORY, ENOUGH = Path("/dev/shm"), 4 << 30


@pytest.fixture(autouse=True)
def no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process knows the secrets of all settings that it loaded; a test must not know those of the one before."""
    monkeypatch.setattr(secret_mask, "_known", set())


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of public evaluation data; tests that need it are skipped where it is missing."""
    folder = Path(os.environ.get("GROUNDGRAPH_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        reason = "the public evaluation data is not here; set GROUNDGRAPH_DATA to its folder"
        if os.environ.get("GROUNDGRAPH_NO_SKIPS"):
            pytest.fail(reason)
        pytest.skip(reason)
    return folder


@pytest.fixture(scope="session")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where corpora are kept as knowledge bases, for all processes of a run: a file is there when it is complete."""
    folder = tmp_path_factory.getbasetemp()
    return (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "bases"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--explore-runs", type=int, default=0, help="run each that often with new examples")
    parser.addoption("--explore-seed", type=int, default=None, help="with the seed that a run printed")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.explore_runs:
        os.environ[ALL] = "1"
    # A gate that refuses a change because of that change alone: the same examples every time, and none fails for being
    # slow on a busy machine. With `--explore-runs` they look for new ones too: what is found becomes an `@example`.
    settings.register_profile(
        "gate",
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        derandomize=True,
        database=None,
        max_examples=examples(100, quick=40),
    )
    settings.load_profile("gate")
    # Those of the long tier write gigabytes.
    if config.option.markexpr != "long" and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ENOUGH:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))
    if config.option.explore_seed is None:
        config.option.explore_seed = random.SystemRandom().randrange(10**9)


# The files of `make test` that take longest, the longest first; a process takes a whole file.
LONG = (
    "nodes/ingest/test_readers.py",
    "cli/test_cli_errors.py",
    "test_linear_time.py",
    "cli/test_cli_demo.py",
    "test_facade.py",
    "cli/test_cli_serve.py",
    "chains/test_link_gate.py",
    "cli/test_cli_ask.py",
    "cli/test_cli_doctor.py",
    "sources/test_contracts.py",
    "test_layers.py",
    "cli/test_cli_ingest.py",
    "report/test_turn_page.py",
    "graph/test_tenants.py",
    "graph/test_computing_by_rule.py",
    "cli/test_chat_terminal.py",
    "cli/test_cli_check_model.py",
    "graph/test_wires.py",
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests begin first, then those that need a server, then the other long ones: what is left at the
    end of a run is short."""
    effort = {ROOT / "tests" / name: place / (len(LONG) + 1) for place, name in enumerate(reversed(LONG), 1)}
    for item in items:
        own = 2 * bool(item.get_closest_marker("slow")) + bool(item.get_closest_marker("live"))
        effort[item.path] = max(own, effort.get(item.path, 0))
    items.sort(key=lambda item: -effort[item.path])


def _guards(item: pytest.Item) -> bool:
    """Whether it is a property test of something that guards, and needs no server."""
    return bool(item.get_closest_marker("guard")) and not item.get_closest_marker("live")


def pytest_collection_finish() -> None:
    """All modules and tests are there by now and stay: whoever looks for garbage need not walk through them again."""
    gc.collect()
    gc.freeze()
    gc.enable()
    # Most of what a test makes goes without being looked for; to look as often as by default takes a 25th of the time.
    gc.set_threshold(50_000, 20, 20)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A property test of something that guards runs again and again with new examples: a number of times and no time,
    so that a commit sees the same ones on every machine."""
    result = yield
    runs = item.config.option.explore_runs
    function = getattr(item, "obj", None)
    if not runs or not hasattr(function, "hypothesis") or not _guards(item):
        return result
    for run in range(1, runs + 1):
        seed = item.config.option.explore_seed + run
        function._hypothesis_internal_use_seed = seed
        try:
            item.runtest()
        except BaseException:
            item.add_report_section("call", "exploring", f"found with @hypothesis.seed({seed})")
            raise
        finally:
            # The function is that of other cases as well, whose examples are to be the same each time.
            function._hypothesis_internal_use_seed = None
    item.user_properties.append((EXPLORED, runs))
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    # Reports come from the processes that ran the tests; what they hold does too.
    explored = [dict(report.user_properties).get(EXPLORED, 0) for report in terminalreporter.stats.get("passed", [])]
    if any(explored):
        seed = terminalreporter.config.option.explore_seed
        terminalreporter.write_sep("-", f"{sum(explored)} runs of {sum(map(bool, explored))} property tests")
        terminalreporter.write_line(f"with new examples, by --explore-seed={seed}")
