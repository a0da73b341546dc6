"""A PostgreSQL server of one's own, on loopback, for tests and benchmarks.

Two builds serve: Debian's (any folder with `initdb`, found through `pg_config`, the usual folders or the path), and the
one in the package `pgserver`, which has pgvector. A server that is started as root runs as an ordinary user, as
PostgreSQL demands.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from free_ports import free_port

HOW_TO_GET_IT = "PostgreSQL is not installed; run scripts/install_services.sh, or put its `initdb` on the path"
HOW_TO_GET_PGVECTOR = (
    "the package `pgserver`, which brings PostgreSQL with pgvector, is not installed; run `make setup`"
)
OWNER = "groundgraph"
STARTS_WITHIN = 120.0
_USUAL = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/local/pgsql/bin")


def debian_build() -> Path | None:
    """The folder of `initdb` and `postgres`, the newest version first; None when there is none."""
    named = _asked(shutil.which("pg_config"))
    usual = [folder for pattern in _USUAL for folder in sorted(Path("/").glob(pattern[1:]), reverse=True)]
    on_path = shutil.which("initdb")
    candidates = [*named, *usual, *([Path(on_path).parent] if on_path else [])]
    return next((folder for folder in candidates if (folder / "initdb").exists()), None)


def pgvector_build() -> Path | None:
    """The same for the build inside `pgserver`."""
    spec = find_spec("pgserver")
    folder = Path(spec.origin).parent / "pginstall" / "bin" if spec and spec.origin else None
    return folder if folder and (folder / "initdb").exists() else None


def _asked(program: str | None) -> list[Path]:
    if not program:
        return []
    found = subprocess.run([program, "--bindir"], capture_output=True, text=True, check=False)
    return [Path(found.stdout.strip())] if found.returncode == 0 and found.stdout.strip() else []


@dataclass
class PostgresServer:
    """One server and its data, in a folder of its own."""

    build: Path
    folder: Path
    options: Mapping[str, str] = field(default_factory=dict)
    port: int = 0
    _process: subprocess.Popen[bytes] | None = None

    def create(self) -> None:
        """Make the data folder and start."""
        self.port = free_port()
        self._own(self.folder)
        locale = ["--encoding=UTF8", "--locale=C.UTF-8"]
        self._run("initdb", "-D", str(self.folder / "data"), "-U", OWNER, "--auth=trust", "--no-sync", *locale)
        self.start()

    def start(self) -> None:
        """Start on the same port and data as before, and wait until it answers."""
        settings = {"fsync": "off", "max_connections": "60", **self.options}
        flags = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        command = [str(self.build / "postgres"), "-D", str(self.folder / "data"), "-p", str(self.port)]
        place = ["-h", "127.0.0.1", "-k", str(self.folder)]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *place, *flags], stdout=log, stderr=log, start_new_session=True, **_as_ordinary_user()
            )
        self._wait()

    def kill(self) -> None:
        """End it as `kill -9` does, its children with it."""
        # Its children have sessions of their own; left alone they would still answer for a moment, and hold the shared
        # memory that the next start asks for. Halted, it makes no new ones.
        _send(self._process.pid, signal.SIGSTOP)
        while _status(self._process.pid)[:1] in (["R"], ["S"], ["D"]):
            time.sleep(0.001)
        doomed = (self._process.pid, *_children(self._process.pid))
        for process in doomed:
            _send(process, signal.SIGKILL)
        self._process.wait(30)
        while any(_is_running(process) for process in doomed):
            time.sleep(0.005)

    def stop(self) -> None:
        """End it in order; connections are cut."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(30)

    def url(self, database: str = "postgres", user: str = OWNER) -> str:
        """The address of a database."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def execute(self, script: str, database: str = "postgres", *, parameters: Any = None) -> list[tuple[Any, ...]]:
        """Run SQL as the owner; the rows of the last statement, if it has any."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(script, parameters)
            return cursor.fetchall() if cursor.description else []

    def database(self, name: str, script: str = "") -> str:
        """A new database; its address."""
        self.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        self.execute(f'CREATE DATABASE "{name}"')
        if script:
            self.execute(script, name)
        return self.url(name)

    def fill(self, database: str = "postgres", **tables: Any) -> None:
        """Add rows, given as tuples, to tables; a name with a point is a schema and a table."""
        import psycopg
        from psycopg import sql

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            for table, rows in tables.items():
                listed = list(rows)
                marks = sql.SQL(", ").join([sql.Placeholder()] * len(listed[0])) if listed else sql.SQL("")
                statement = sql.SQL("INSERT INTO {} VALUES ({})").format(sql.Identifier(*table.split(".")), marks)
                with connection.cursor() as cursor:
                    cursor.executemany(statement, listed)

    def _wait(self) -> None:
        ends_at = time.monotonic() + STARTS_WITHIN
        while time.monotonic() < ends_at:
            ready = subprocess.run(
                [str(self.build / "pg_isready"), "-h", "127.0.0.1", "-p", str(self.port), "-q"], check=False
            )
            if ready.returncode == 0:
                return
            if self._process.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError(f"PostgreSQL did not start: {(self.folder / 'log').read_text()[-2000:]}")

    def _run(self, program: str, *arguments: str) -> None:
        found = subprocess.run(
            [str(self.build / program), *arguments], capture_output=True, text=True, check=False, **_as_ordinary_user()
        )
        if found.returncode:
            raise RuntimeError(f"{program}: {found.stderr[-2000:]}")

    def _own(self, folder: Path) -> None:
        user = _as_ordinary_user().get("user")
        if user is not None:
            os.chown(folder, user, pwd.getpwuid(user).pw_gid)


@contextmanager
def running(build: Path, **options: str) -> Iterator[PostgresServer]:
    """A new server, gone afterwards with its data."""
    folder = Path(tempfile.mkdtemp(prefix="gg-pg-"))
    folder.chmod(0o755)
    server = PostgresServer(build, folder, options)
    try:
        server.create()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _as_ordinary_user() -> dict[str, Any]:
    """What `subprocess` needs to start a program as an ordinary user; nothing when that is who we are."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": [], "cwd": "/"}
    raise RuntimeError("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")


def _children(parent: int) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        fields = _status(int(folder.name))
        if fields and int(fields[1]) == parent:
            found.append(int(folder.name))
    return found


def _is_running(process: int) -> bool:
    fields = _status(process)
    return bool(fields) and fields[0] not in "ZX"


def _status(process: int) -> list[str]:
    """The state of a process, its parent and so on, as in `man proc_pid_stat`; nothing when it is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _send(process: int, what: signal.Signals) -> None:
    try:
        os.kill(process, what)
    except ProcessLookupError:
        return
