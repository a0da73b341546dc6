"""A LangGraph Server on loopback, with every graph of `langgraph.json`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from example_copy import copy_example
from free_ports import free_port
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from groundgraph.testing import OpenAIStub, openai_stub

ROOT = Path(__file__).parent.parent.parent
STARTS_WITHIN = 180.0
CONFIG = """
intent: {mode: static}
sources:
  - type: memory
    name: docs
    records:
      - {id: oauth, content: OAuth has four grant types. The implicit grant is one of them., title: OAuth}
      - {id: pump, content: Pump 17 is serviced every 90 days.}
  - type: memory
    name: notes
    records: [Grant types of OAuth 2.0 include client credentials.]
"""


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    ends_at = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < ends_at:
        if process.poll() is not None:
            pytest.fail(f"the server ended: {log.read_text()[-3000:]}")
        try:
            with urllib.request.urlopen(f"{url}/ok", timeout=2):
                return
        except OSError:
            time.sleep(0.1)
    pytest.fail(f"the server did not answer in time: {log.read_text()[-3000:]}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """As a user ends it; what these tests prove lies before that, so it may take its time or be killed."""
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def server_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the server prints."""
    return tmp_path_factory.mktemp("server") / "log"


@contextmanager
def serving(
    folder: Path, config: str, log: Path, *, project: Path = ROOT / "langgraph.json", **variables: str
) -> Iterator[str]:
    """The address of a running `langgraph dev` over `config`, without a key and without a network."""
    (folder / "groundgraph.yaml").write_text(config)
    port = free_port()
    environment = {
        **os.environ,
        "GROUNDGRAPH_CONFIG": str(folder / "groundgraph.yaml"),
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "LANGGRAPH_NO_VERSION_CHECK": "true",
        "LANGSMITH_TRACING": "false",
        **variables,
    }
    command = [str(Path(sys.executable).parent / "langgraph"), "dev", "--no-browser", "--no-reload",
               "--config", str(project), "--host", "127.0.0.1", "--port", str(port)]  # fmt: skip
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=output, stderr=output)
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(url, process, log)
            yield url
        finally:
            _end(process)


@pytest.fixture(scope="session")
def serve() -> Callable[..., AbstractContextManager[str]]:
    """`serving`, for tests with a configuration of their own."""
    return serving


@pytest.fixture(scope="session")
def server(server_log: Path) -> Iterator[str]:
    """The address of a server whose sources are in memory."""
    with serving(server_log.parent, CONFIG, server_log) as url:
        yield url


@pytest.fixture(scope="module")
def model(request: pytest.FixtureRequest) -> Iterator[OpenAIStub]:
    """A model that says `REPLY` of the tests' module."""
    with openai_stub(default=request.module.REPLY) as stub:
        yield stub


@pytest.fixture(scope="module")
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server over `CONFIG` of the tests' module with its model, or else of `server`."""
    if not hasattr(request.module, "CONFIG"):
        yield request.getfixturevalue("server")
        return
    folder = tmp_path_factory.mktemp("served")
    config = request.module.CONFIG.format(base_url=request.getfixturevalue("model").base_url)
    with serving(folder, config, folder / "log", OPENAI_API_KEY="test") as address:
        yield address


@pytest.fixture
async def client(url: str) -> AsyncIterator[LangGraphClient]:
    """A client of the server at `url`."""
    async with get_client(url=url) as opened:
        yield opened


@pytest.fixture
def filling_server(tmp_path: Path) -> Iterator[str]:
    """The address of a server with a knowledge base; its documents are in `docs` below `tmp_path`."""
    with serving(
        tmp_path, "intent: {mode: static}\nknowledge_base: {path: docs, file: kb.sqlite}\n", tmp_path / "log"
    ) as url:
        yield url


@pytest.fixture(scope="session")
def guarded_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a copy of `examples/serve`, where users sign in."""
    folder = copy_example("serve", tmp_path_factory.mktemp("guarded") / "serve")
    project = folder / "langgraph.json"
    described = json.loads(project.read_text("utf-8"))
    described["source"]["root"] = os.path.relpath(ROOT, folder)
    project.write_text(json.dumps(described))
    config = (folder / "groundgraph.yaml").read_text("utf-8")
    with serving(folder, config, folder / "log", project=project) as url:
        yield url
