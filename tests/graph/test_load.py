"""A hundred conversations at once over the graph: none hears of another, memory stays flat, the loop stays free and the
tries of all are one budget; on the files of the embedded default, and on PostgreSQL with Weaviate.

`make test-long` runs each for ten minutes, and the slow tier for some seconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from load_facts import TENANTS, documents, rows
from load_model import LoadModel
from postgres_fixture import postgres  # noqa: F401 - a fixture
from postgres_server import PostgresServer
from weaviate_bases import weaviate_section
from weaviate_server import WeaviateServer

from groundgraph import KnowledgeBase, load_settings
from groundgraph.testing import openai_stub

SUPPORT = Path(__file__).parent.parent / "support"
SECONDS = float(os.environ.get("GROUNDGRAPH_LOAD_SECONDS", "600"))
SHORT = 8.0
FIELDS = {"tenant": {"type": "string"}}
TENANT = {"tenant": "context.tenant"}
# By hand only, and without the mark of what needs servers, which other runs look for.
LONG = pytest.param(SECONDS, marks=pytest.mark.long)
HALLS = "CREATE TABLE halls (id INTEGER PRIMARY KEY, tenant TEXT, title TEXT, body TEXT)"

pytestmark = pytest.mark.covers("fault 76", "fault 77", "fault 78", "fault 79")


@contextmanager
def loaded(settings: Mapping[str, Any]) -> Iterator[Callable[[float, float], Any]]:
    """What loads the graph of `settings`, in a process of its own, and tells what happened.

    It takes for how many seconds, and within how many the conversations begin.
    """
    command = [sys.executable, str(SUPPORT / "load_turns.py"), json.dumps(settings)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        asking, telling = process.stdin, process.stdout

        def load(seconds: float, begin_within: float) -> Any:
            print(seconds, begin_within, file=asking, flush=True)
            line = telling.readline()
            assert line, "the process ended"
            return json.loads(line)

        try:
            yield load
            asking.close()
            assert process.wait(60) == 0
        finally:
            process.kill()


def embedded(folder: Path) -> dict[str, Any]:
    """Files of SQLite, and a base of all that is known."""
    settings = {
        "knowledge_base": {"file": str(folder / "kb.sqlite"), "fields": FIELDS},
        "checkpointer": {"path": str(folder / "threads.sqlite")},
        "store": {"path": str(folder / "evidence.sqlite")},
        "retrieval": {"scope_filters": {"knowledge_base": TENANT}},
    }
    with KnowledgeBase.open(load_settings(settings)) as base:
        base.add_documents(documents(halls=True))
    return settings


def served(server: PostgresServer, weaviate: WeaviateServer) -> dict[str, Any]:
    """Threads and evidence in PostgreSQL, the halls in a table there, and the rest in Weaviate."""
    # Where many processes share two cores, a statement takes seconds, and nobody is to give up for that.
    kept = {"type": "postgres", "url": server.database("threads"), "pool_size": 20}
    plant = server.database("plant", HALLS)
    server.fill("plant", halls=rows())
    server.execute("CREATE INDEX ON halls USING gin (to_tsvector('english', body))", "plant")
    table = {"type": "sql", "name": "plant", "url": plant, "table": "halls", "text_search_fields": ["body"]}
    settings = {
        "knowledge_base": {"fields": FIELDS, **weaviate_section(weaviate)},
        "sources": [{"type": "knowledge_base"}, table],
        "checkpointer": kept,
        "store": kept,
        "retrieval": {"scope_filters": {"knowledge_base": TENANT, "plant": TENANT}},
    }
    with KnowledgeBase.open(load_settings(settings)) as base:
        base.add_documents(documents(halls=False))
    return settings


def judge(told: Mapping[str, Any], model: LoadModel) -> None:
    """What holds however long it takes."""
    assert (told["crossed"], told["wrong"], model.crossed) == (0, 0, []), told["shown"]
    assert told["by_model"]
    assert set(told["tries"]) <= {"1", "2", "3", "failed"}
    assert model.further
    assert model.most_over_budget() <= 0


def shown(name: str, told: Mapping[str, Any], model: LoadModel) -> str:
    early, half, late = (round(one / 1e6, 1) for one in told["memory"])
    return (
        f"\n{name}: {told['turns']} turns in {told['seconds']:.0f} s, {told['by_model']} written by the model, "
        f"{told['crossed']} crossed, {told['wrong']} wrong; CPU of a turn {1000 * told['cpu'] / told['turns']:.1f} ms, "
        f"{told['cpu'] / told['seconds']:.0%} of a core, load of the machine {os.getloadavg()[0]:.0f}; "
        f"a turn p50 {told['turn_seconds'][0]:.2f} s, p99 {told['turn_seconds'][1]:.2f} s; memory {early} MB "
        f"after a tenth, {half} after a half, {late} MB; loop lag in ms {told['lag']}; tries {told['tries']}; "
        f"{len(model.further)} further ones, {-model.most_over_budget():.1f} below the budget at the closest"
    )


def run(settings: dict[str, Any], seconds: float, name: str, say: Callable[[str], None]) -> None:
    """Loads the graph as much as it bears; where there is time, then with a model that thinks, about half as much."""
    model = LoadModel()
    patient = {"deadlines": {"turn": 600, "source": 300, "model": 300}}
    with openai_stub(default=model) as stub:
        llm = {"provider": "openai", "model": "test-model", "base_url": stub.base_url, "api_key": "test"}
        with loaded({**settings, **patient, "llm": llm}) as load:
            told = load(seconds, 1)
            say(shown(f"{name}, as much as it bears", told, model))
            judge(told, model)
            if seconds == SHORT:
                return
            # A turn calls it twice, so that it takes twice as long as now at least.
            model.thinks, model.outages = told["seconds"] * len(TENANTS) / told["turns"], False
            calm = load(seconds / 5, 2 * model.thinks)
            say(shown(f"{name}, a model that thinks {model.thinks:.1f} s", calm, model))
            judge(calm, model)
    # What is known of texts is kept for the last 4 096, which takes 2 000 turns.
    _, half, late = told["memory"]
    assert late <= 1.1 * half
    assert calm["lag"]["own_p99"] < 50


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Prints, also where a test passes."""

    def said(text: str) -> None:
        with capsys.disabled():
            print(text)

    return said


@pytest.mark.parametrize("seconds", [pytest.param(SHORT, marks=pytest.mark.slow), LONG])
def test_a_hundred_conversations_at_once_on_the_embedded_default(
    seconds: float, tmp_path: Path, say: Callable[[str], None]
) -> None:
    run(embedded(tmp_path), seconds, "embedded", say)
    sizes = {file.name: file.stat().st_size for file in sorted(tmp_path.iterdir())}
    say(f"bytes of files {sizes}")


@pytest.mark.parametrize("seconds", [pytest.param(SHORT, marks=[pytest.mark.slow, pytest.mark.live]), LONG])
def test_a_hundred_conversations_at_once_on_servers(
    seconds: float,
    postgres: PostgresServer,  # noqa: F811
    weaviate_server: WeaviateServer,
    say: Callable[[str], None],
) -> None:
    run(served(postgres, weaviate_server), seconds, "servers", say)
    (size,) = postgres.execute("SELECT pg_database_size('threads')")[0]
    say(f"bytes of threads and evidence {size}")
