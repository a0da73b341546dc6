"""Settings of the whole suite: strict serialisation, no tracing, public data where it is."""

from __future__ import annotations

import os
from pathlib import Path

# Both are read when LangGraph is imported.
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
os.environ["LANGSMITH_TRACING"] = "false"

import pytest
from chromium import chromium  # noqa: F401 - one browser for all folders
from hypothesis import HealthCheck, settings
from weaviate_fixtures import own_server, weaviate_binary, weaviate_server  # noqa: F401 - one server for all folders

ROOT = Path(__file__).resolve().parent.parent

# A gate that refuses a change because of that change alone: the same examples every time, and none fails for being
# slow on a busy machine. `pytest --hypothesis-profile=explore` looks for new ones.
_UNHURRIED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("explore", **_UNHURRIED, derandomize=False)
settings.register_profile("gate", **_UNHURRIED, derandomize=True, database=None)
settings.load_profile("gate")


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
