"""Settings of the whole suite: strict serialisation, no tracing, public data where it is."""

from __future__ import annotations

import os
from pathlib import Path

# Both are read when LangGraph is imported.
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
os.environ["LANGSMITH_TRACING"] = "false"

import pytest
from chromium import chromium  # noqa: F401 - one browser for all folders
from weaviate_fixtures import own_server, weaviate_binary, weaviate_server  # noqa: F401 - one server for all folders

ROOT = Path(__file__).resolve().parent.parent


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
