"""The files of the server say what the code says (U2)."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
from pathlib import Path
from types import ModuleType

import pytest
from example_copy import module_at
from langgraph.graph.state import CompiledStateGraph

from groundgraph.storage.checkpoint_serializer import CHECKPOINT_TYPES

pytestmark = pytest.mark.covers("U2")

ROOT = Path(__file__).parent.parent.parent
PROJECTS = [ROOT / "langgraph.json", ROOT / "examples" / "serve" / "langgraph.json"]


@pytest.fixture(scope="module")
def server_files() -> ModuleType:
    return module_at(ROOT / "scripts" / "server_files.py", "server_files")


@pytest.fixture(params=PROJECTS, ids=["root", "serve"])
def project(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def test_a_checkpoint_may_hold_the_types_of_the_state_and_no_others(server_files, project) -> None:
    types = [list(one) for one in CHECKPOINT_TYPES]
    assert types == server_files.checkpoint_types()
    assert project.read_text("utf-8") == server_files.with_types(project, types)
    serde = json.loads(project.read_text("utf-8"))["checkpointer"]["serde"]
    assert serde["pickle_fallback"] is False
    assert serde["allowed_json_modules"] is None


def test_a_type_of_ours_in_a_channel_would_be_listed(server_files, monkeypatch) -> None:
    from langgraph.channels import LastValue

    from groundgraph.core.document import Chunk
    from groundgraph.graph import server

    monkeypatch.setitem(server.turn.channels, "chunk", LastValue(Chunk))
    assert ["groundgraph.core.document", "Chunk"] in server_files.checkpoint_types()


def test_the_dockerfile_is_what_langgraph_makes_of_the_configuration(server_files, project) -> None:
    assert project.with_name("Dockerfile").read_text("utf-8") == server_files.dockerfile(project)


def test_the_image_has_the_server_that_the_tests_run_on(project) -> None:
    wanted = json.loads(project.read_text("utf-8"))["api_version"]
    assert wanted == importlib.metadata.version("langgraph-api")


def test_every_graph_is_there_and_described(project) -> None:
    for name, entry in json.loads(project.read_text("utf-8"))["graphs"].items():
        module, _, attribute = entry["path"].partition(":")
        graph = getattr(importlib.import_module(module), attribute)
        assert isinstance(graph, CompiledStateGraph)
        assert graph.checkpointer is None
        assert graph.name == name
        assert len(entry["description"]) > 40


def test_evidence_outlives_the_threads_that_refer_to_it(project) -> None:
    config = json.loads(project.read_text("utf-8"))
    threads, evidence = config["checkpointer"]["ttl"], config["store"]["ttl"]
    # Older checkpoints hold the messages that the newest one refers to, so a thread is kept or deleted as a whole.
    assert threads["strategy"] == "delete"
    assert evidence["default_ttl"] >= 2 * threads["default_ttl"]
    assert evidence["refresh_on_read"]


def test_no_token_stands_in_the_example() -> None:
    users = json.loads((ROOT / "examples" / "serve" / "users.json").read_text("utf-8"))
    assert set(users) == {"alice", "bob", "operator"}
    assert all(len(user["token_sha256"]) == 64 for user in users.values())
