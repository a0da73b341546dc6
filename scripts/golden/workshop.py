"""Where a recording works: the public data, a folder that is gone afterwards, and servers, started when needed."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

# What the helpers that start servers read; everything else of this prefix is a setting.
OF_HELPERS = frozenset({"GROUNDGRAPH_WEAVIATE", "GROUNDGRAPH_CACHE"})
SUPPORT = Path(__file__).resolve().parent.parent.parent / "tests" / "support"


class CannotRun(Exception):
    """A recording needs what is not here; the message says what."""


@dataclass(frozen=True)
class Places:
    """What the caller says: folder of the public sets, most questions of a set, and where servers are, if anywhere."""

    data: Path
    questions: int = 300
    postgres: str | None = None
    weaviate: str | None = None
    weaviate_grpc: int = 50051


@dataclass(eq=False)
class Workshop:
    """What the recordings share. The working directory is a folder of its own, so no path of a machine is recorded."""

    places: Places
    stack: ExitStack
    _started: dict[str, Any] = field(default_factory=dict)

    def data(self, name: str) -> Path:
        """A folder of the public sets.

        Raises:
            CannotRun: it is not here.
        """
        folder = self.places.data / name
        if not folder.is_dir():
            raise CannotRun("the public evaluation data is not here; name its folder by --data or GROUNDGRAPH_DATA")
        return folder

    @property
    def postgres(self) -> str:
        """The address of a database on PostgreSQL.

        Raises:
            CannotRun: none was named, and none can be started.
        """
        return str(self.places.postgres or self._start("postgres_server", _postgres).url())

    @property
    def weaviate(self) -> tuple[str, int]:
        """The address of a Weaviate server, and its port of gRPC.

        Raises:
            CannotRun: none was named, and none can be started.
        """
        if self.places.weaviate:
            return self.places.weaviate, self.places.weaviate_grpc
        server = self._start("weaviate_server", _weaviate)
        return server.url, server.grpc_port

    def _start(self, module: str, running: Any) -> Any:
        if module not in self._started:
            if str(SUPPORT) not in sys.path:
                sys.path.append(str(SUPPORT))
            try:
                helpers = import_module(module)
            except ImportError as error:
                raise CannotRun(f"no server was named, and the helper that starts one is not here ({error})") from error
            self._started[module] = self.stack.enter_context(running(helpers))
        return self._started[module]


def _postgres(helpers: Any) -> Any:
    # The build with pgvector first, since it serves both.
    build = helpers.pgvector_build() or helpers.debian_build()
    if build is None:
        raise CannotRun(helpers.HOW_TO_GET_IT)
    return helpers.running(build)


def _weaviate(helpers: Any) -> Any:
    binary = helpers.server_binary()
    if binary is None:
        raise CannotRun(helpers.HOW_TO_GET_IT)
    return helpers.running(binary)


@contextmanager
def workshop(places: Places) -> Iterator[Workshop]:
    """A workshop in a temporary working directory, without settings of groundgraph in the environment."""
    before, environment = Path.cwd(), dict(os.environ)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="golden-"))
        stack.callback(os.chdir, before)
        stack.callback(os.environ.update, environment)
        for name in environment:
            if name.startswith("GROUNDGRAPH_") and name not in OF_HELPERS:
                del os.environ[name]
        os.chdir(folder)
        yield Workshop(places, stack)
