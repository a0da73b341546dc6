"""A Weaviate server of one's own, one node or several as a cluster, for tests and benchmarks.

It is an ordinary process on ports that nobody else uses. HTTP and gossip listen on loopback only; Weaviate offers no
way to bind gRPC and the data port of a cluster to it.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from free_ports import free_ports

HOW_TO_GET_IT = (
    "the Weaviate server is not there; run scripts/install_services.sh weaviate (Go builds it once, in 5 minutes), "
    "or name a binary in GROUNDGRAPH_WEAVIATE"
)
STARTS_WITHIN = 120.0
# Faster elections: a node alone is ready in 6 s in place of 9.
_ENVIRONMENT = {
    "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED": "true",
    "DISABLE_TELEMETRY": "true",
    "API_BASED_MODULES_DISABLED": "true",
    "AUTOSCHEMA_ENABLED": "false",
    "ASYNC_INDEXING": "true",
    "GO_PROFILING_DISABLE": "true",
    "CLUSTER_IN_LOCALHOST": "true",
    "CLUSTER_ADVERTISE_ADDR": "127.0.0.1",
    "CLUSTER_BIND_ADDR": "127.0.0.1",
    "RAFT_HEARTBEAT_TIMEOUT": "1",
    "RAFT_ELECTION_TIMEOUT": "1",
    "RAFT_LEADER_LEASE_TIMEOUT": "1",
    "LOG_LEVEL": "info",
}
_PORTS = ("http", "GRPC_PORT", "CLUSTER_GOSSIP_BIND_PORT", "CLUSTER_DATA_BIND_PORT", "RAFT_PORT",
          "RAFT_INTERNAL_RPC_PORT")  # fmt: skip


def server_binary() -> Path | None:
    """The server that `GROUNDGRAPH_WEAVIATE` names, else the one in the cache; None when it is not there."""
    named = os.environ.get("GROUNDGRAPH_WEAVIATE")
    cache = Path(os.environ.get("GROUNDGRAPH_CACHE") or Path.home() / ".cache" / "groundgraph-weaviate")
    binary = Path(named) if named else cache / "weaviate-server"
    return binary if binary.is_file() else None


@dataclass
class WeaviateServer:
    """One node and its data, in a folder of its own.

    Attributes:
        binary: the server.
        folder: for data and log.
        environment: variables beside the usual ones.
        hostname: the node's name in its cluster.
        ports: all its ports, by what they are for.
    """

    binary: Path
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    hostname: str = "node1"
    ports: dict[str, int] = field(default_factory=lambda: dict(zip(_PORTS, free_ports(len(_PORTS)), strict=True)))
    _process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it answers HTTP."""
        return f"http://127.0.0.1:{self.ports['http']}"

    @property
    def grpc_port(self) -> int:
        """Where it answers gRPC."""
        return self.ports["GRPC_PORT"]

    def start(self, *, wait: bool = True) -> None:
        """Start on the same ports and data as before; `wait` until it is ready."""
        own = {name: str(port) for name, port in self.ports.items() if name != "http"}
        environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
            **_ENVIRONMENT,
            **own,
            "CLUSTER_HOSTNAME": self.hostname,
            "RAFT_BOOTSTRAP_EXPECT": "1",
            "PERSISTENCE_DATA_PATH": str(self.folder / "data"),
            **self.environment,
        }
        command = [str(self.binary), "--scheme", "http", "--host", "127.0.0.1", "--port", str(self.ports["http"])]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, env=environment, cwd=self.folder, stdout=log, stderr=log)
        if wait:
            self.wait_until_ready()

    def is_ready(self) -> bool:
        """Whether it says that it is."""
        try:
            with urllib.request.urlopen(f"{self.url}/v1/.well-known/ready", timeout=1) as reply:
                return int(reply.status) == 200
        except (OSError, urllib.error.HTTPError):
            return False

    def wait_until_ready(self) -> None:
        """Wait until it says that it is ready.

        Raises:
            RuntimeError: it ended, or was not ready in time; with the end of its log.
        """
        ends_at = time.monotonic() + STARTS_WITHIN
        while not self.is_ready():
            ended = self._process is None or self._process.poll() is not None
            if ended or time.monotonic() > ends_at:
                raise RuntimeError(f"Weaviate did not start: {(self.folder / 'log').read_text()[-3000:]}")
            time.sleep(0.1)

    def kill(self) -> None:
        """End it as `kill -9` does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it in order."""
        self._end(signal.SIGTERM)

    def freeze(self) -> None:
        """Let it hang: connections stay open and nothing answers."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self._process.send_signal(signal.SIGCONT)

    def _end(self, how: signal.Signals) -> None:
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGCONT)
        self._process.send_signal(how)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(30)


@contextmanager
def running(binary: Path, **environment: str) -> Iterator[WeaviateServer]:
    """A new server of one node, gone afterwards with its data."""
    with _folder() as folder:
        server = WeaviateServer(binary, folder, environment)
        try:
            server.start()
            yield server
        finally:
            server.stop()


@contextmanager
def running_cluster(binary: Path, nodes: int = 3) -> Iterator[Sequence[WeaviateServer]]:
    """New nodes that know each other, gone afterwards with their data."""
    with _folder() as folder:
        servers = [
            WeaviateServer(binary, folder / f"node{number}", {}, f"node{number}") for number in range(1, nodes + 1)
        ]
        first = servers[0].ports["CLUSTER_GOSSIP_BIND_PORT"]
        for server in servers:
            server.folder.mkdir()
            server.environment = {
                "RAFT_BOOTSTRAP_EXPECT": str(nodes),
                "RAFT_JOIN": ",".join(f"{node.hostname}:{node.ports['RAFT_PORT']}" for node in servers),
                **({} if server is servers[0] else {"CLUSTER_JOIN": f"127.0.0.1:{first}"}),
            }
        try:
            for server in servers:
                server.start(wait=False)
                # A node whose first neighbour does not listen yet ends at once.
                _wait_until_listening(server.ports["CLUSTER_GOSSIP_BIND_PORT"])
            for server in servers:
                server.wait_until_ready()
            yield servers
        finally:
            for server in servers:
                server.kill()


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="gg-weaviate-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_listening(port: int) -> None:
    ends_at = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < ends_at:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"nothing listens on port {port}")
