"""Runs turns in child processes that are killed, and goes on with them in others; prints what was found as JSON.

Started by the tests of resuming: `python killed_turn.py FOLDER`, and for PostgreSQL
`python killed_turn.py FOLDER URL POINT...`; each point then has a schema of its own there. The children are
forked, so that LangGraph is imported once.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.store.sqlite.aio import AsyncSqliteStore
from turns import QUESTION, docs, log, notes, thread

from groundgraph import load_settings, resume_turn, turn_graph
from groundgraph.testing import FaultySource, ScriptedChatModel

# A turn writes nine checkpoints: its input, the start, and one after each step.
CHECKPOINTS = ["input", "start", "begin_turn", "resolve_intent", "retrieve_source", "process_results",
               "answer_conversational", "check_citations", "record_turn"]  # fmt: skip
KILL_POINTS = [*CHECKPOINTS, "inside_source", "inside_model"]


def die() -> None:
    """End this process as `kill -9` does."""
    os.kill(os.getpid(), signal.SIGKILL)


class LoggedModel(ScriptedChatModel):
    """Writes each prompt to a file, and can kill its process."""

    folder: Any = None
    deadly: bool = False

    async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        log(self.folder, "prompts", json.dumps([[m.type, m.name, m.text] for m in messages]))
        if self.deadly:
            die()
        return await super()._agenerate(messages, *args, **kwargs)


class LoggedSource(FaultySource):
    """Notes each query in a file, and can kill its process."""

    def __init__(self, inner: Any, folder: Path, *, deadly: bool = False) -> None:
        super().__init__(inner)
        self._folder, self._deadly = folder, deadly

    async def query(self, intent: Any, **options: Any) -> Any:
        """As the inner source's."""
        log(self._folder, "queries", self.name)
        if self._deadly:
            die()
        return await super().query(intent, **options)


class Mortal:
    """Kills its process right after the checkpoint of the step called `point`."""

    point = ""
    written = 0

    async def aput(self, *args: Any, **kwargs: Any) -> Any:
        """As the saver's that this is mixed into."""
        config = await super().aput(*args, **kwargs)
        self.written += 1
        if self.point in CHECKPOINTS and CHECKPOINTS.index(self.point) + 1 == self.written:
            die()
        return config


class MortalSaver(Mortal, AsyncSqliteSaver):
    """A SQLite saver that kills its process."""


@asynccontextmanager
async def sqlite_storage(folder: Path, point: str) -> AsyncIterator[tuple[Any, Any]]:
    """A saver and a store in SQLite files in `folder`."""
    saver = MortalSaver.from_conn_string(str(folder / "threads.sqlite"))
    store = AsyncSqliteStore.from_conn_string(str(folder / "store.sqlite"))
    async with saver as checkpointer, store as opened:
        await opened.setup()
        checkpointer.point = point
        yield checkpointer, opened


@asynccontextmanager
async def postgres_storage(url: str, folder: Path, point: str) -> AsyncIterator[tuple[Any, Any]]:
    """A saver and a store in PostgreSQL, in a schema called as `folder`."""
    import psycopg

    from groundgraph.storage import postgres_storage as module

    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{folder.name}"')
    own = f"{url}?options=-c%20search_path%3D{folder.name}"
    saver_class = type("MortalPostgresSaver", (Mortal, module.PooledPostgresSaver), {"point": point})
    module.PooledPostgresSaver = saver_class  # type: ignore[misc]
    async with AsyncExitStack() as stack:
        storage = module.PostgresStorage(stack)
        yield await storage.saver(own, 4), await storage.store(own, 4)


async def with_graph(folder: Path, use: Any, point: str = "", url: str = "") -> Any:
    """What `use` gives for a graph over the SQLite files in `folder`, or over the server at `url`."""
    model = LoggedModel("Four types [1], clients [2].", folder=folder, deadly=point == "inside_model")
    sources = [LoggedSource(docs(), folder, deadly=point == "inside_source"), LoggedSource(notes(), folder)]
    settings = load_settings({"intent": {"mode": "static"}})
    storage = postgres_storage(url, folder, point) if url else sqlite_storage(folder, point)
    async with storage as (checkpointer, opened):
        graph = turn_graph(settings, sources=sources, chat_model=model, checkpointer=checkpointer, store=opened)
        return await use(graph)


def question() -> dict[str, Any]:
    """The input, with an id of its own, so that every run asks the same turn."""
    return {"messages": [HumanMessage(QUESTION, id="question-1")]}


async def run(graph: Any) -> None:
    """One turn."""
    await graph.ainvoke(question(), thread(), durability="sync")


async def finish(graph: Any) -> dict[str, Any]:
    """Go on with the turn; what the caller sees, and what the thread and the store hold."""
    output = await resume_turn(graph, "t")
    state = (await graph.aget_state(thread())).values
    records = await graph.store.asearch(("groundgraph", "provenance"), limit=100)
    bodies = await graph.store.asearch(("groundgraph", "evidence"), limit=100)
    return {
        "answer": output["answer"],
        "outcome": output["outcome"],
        "citations": output["citations"],
        "messages": [[message.type, message.text] for message in state["messages"]],
        "history": len(state["metadata"]["retrieval_provenance_history"]),
        "records": len(records),
        "bodies": len(bodies),
    }


async def replay(graph: Any) -> list[str]:
    """Replay and fork the turn from every checkpoint that has a next step; the final answers."""
    answers = []
    for point in [point async for point in graph.aget_state_history(thread()) if point.next]:
        answers.append((await graph.ainvoke(None, point.config))["answer"])
        if point.next[0] in CHECKPOINTS[3:]:
            before = CHECKPOINTS[CHECKPOINTS.index(point.next[0]) - 1]
            forked = await graph.aupdate_state(point.config, {"metadata": {"fork": True}}, as_node=before)
            answers.append((await graph.ainvoke(None, forked))["answer"])
    return answers


def in_child(work: Any) -> tuple[int, Any]:
    """The signal that ended a forked process running `work`, or 0 and what it returned."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        result = json.dumps(asyncio.run(work()))
        os.write(writer, result.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status), json.loads(text) if text else None


def lines(folder: Path, name: str) -> list[str]:
    """The lines of a file of the folder; none when it is not there."""
    path = folder / name
    return path.read_text("utf-8").splitlines() if path.exists() else []


def main(root: Path, url: str = "", points: list[str] = KILL_POINTS) -> dict[str, Any]:
    """The uninterrupted turn, every killed one, and the replays."""
    found: dict[str, Any] = {}
    for point in ["nowhere", *points]:
        folder = root / point
        folder.mkdir()
        killed, _ = in_child(lambda: with_graph(folder, run, point, url))  # noqa: B023
        asked_before = len(lines(folder, "queries"))
        _, result = in_child(lambda: with_graph(folder, finish, url=url))  # noqa: B023
        queries = lines(folder, "queries")
        found[point] = {
            "killed": killed,
            "result": result,
            "prompts": lines(folder, "prompts"),
            "queries_before": asked_before,
            "queries": len(queries),
        }
    folder = root / "nowhere"
    _, answers = in_child(lambda: with_graph(folder, replay, url=url))
    found["replay"] = {"answers": answers, "prompts": lines(folder, "prompts")}
    return found


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), *sys.argv[2:3], *([sys.argv[3:]] if sys.argv[3:] else []))))
