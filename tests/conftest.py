"""Settings of the whole suite: strict serialisation, no tracing, public data where it is."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Generator
from pathlib import Path

# Both are read when LangGraph is imported.
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
os.environ["LANGSMITH_TRACING"] = "false"

import pytest
from chromium import chromium  # noqa: F401 - one browser for all folders
from hypothesis import HealthCheck, settings
from weaviate_fixtures import own_server, weaviate_binary, weaviate_server  # noqa: F401 - one server for all folders

from groundgraph.core import secret_mask

ROOT = Path(__file__).resolve().parent.parent

# A gate that refuses a change because of that change alone: the same examples every time, and none fails for being
# slow on a busy machine. `make test-slow` and `make test-long` look for new ones: what they find becomes an `@example`.
_UNHURRIED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("explore", **_UNHURRIED, derandomize=False, print_blob=True)
settings.register_profile("gate", **_UNHURRIED, derandomize=True, database=None)
settings.load_profile("gate")

# How often a property test ran with new examples, by its id.
EXPLORED: dict[str, int] = {}


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


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--explore-seconds", type=float, default=0.0, help="look for new examples this long, in all")
    parser.addoption("--explore-seed", type=int, default=None, help="with the seed that a run printed")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.explore_seed is None:
        config.option.explore_seed = random.SystemRandom().randrange(10**9)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A property test of something that guards runs again and again with new examples, for its share of the time."""
    result = yield
    seconds = item.config.getoption("explore_seconds")
    function = getattr(item, "obj", None)
    if not seconds or not hasattr(function, "hypothesis"):
        return result
    share = seconds / sum("guard" in other.keywords for other in item.session.items)
    end, runs = time.monotonic() + share, 0
    while time.monotonic() < end:
        runs += 1
        function._hypothesis_internal_use_seed = item.config.option.explore_seed + runs
        try:
            item.runtest()
        except BaseException:
            item.add_report_section(
                "call", "exploring", f"run {runs}, --explore-seed={item.config.option.explore_seed}"
            )
            raise
    EXPLORED[item.nodeid] = runs
    return result


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if EXPLORED:
        seed = terminalreporter.config.option.explore_seed
        terminalreporter.write_sep("-", f"explored {len(EXPLORED)} property tests with --explore-seed={seed}")
        for name, runs in EXPLORED.items():
            terminalreporter.write_line(f"{runs * settings().max_examples:>8} new examples  {name}")
