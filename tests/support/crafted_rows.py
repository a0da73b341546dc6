"""Rows that somebody else wrote: what a graph makes of them, in a process of its own.

Started as `python crafted_rows.py FOLDER EVERY [URL]`, where EVERY leaves out all but each EVERYth kind; prints as JSON
what became of each kind of row.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import ormsgpack
from turns import asking, docs, thread

from groundgraph import load_settings, open_graph
from groundgraph.core.errors import GroundGraphError
from groundgraph.graph.forget_thread import forget_thread

STRUCTURED = {"intent": {"mode": "static"}, "synthesis": {"style": "structured"}}


def ext(code: int, *parts: Any) -> ormsgpack.Ext:
    return ormsgpack.Ext(code, ormsgpack.packb(parts))


def values(mark: Path) -> dict[str, tuple[str, Any]]:
    """By name, the kind and the value of a row, most of which would make the file `mark`."""
    command = f"touch {mark}"
    call = ext(0, "os", "system", command)
    lc = {"lc": 2, "type": "constructor", "id": ["os", "system"], "args": [command]}
    return {
        "ext 0": ("msgpack", call),
        "ext 1": ("msgpack", ext(1, "os", "system", [command])),
        "ext 2": ("msgpack", ext(2, "os", "system", {"command": command})),
        "ext 3": ("msgpack", ext(3, "shutil", "os", command, "system")),
        "ext 4": ("msgpack", ext(4, "os", "system", {"command": command})),
        "ext 5": ("msgpack", ext(5, "os", "system", {"command": command})),
        "inside": ("msgpack", {"deep": [{"er": call}]}),
        "inside ext": ("msgpack", ormsgpack.Ext(7, ormsgpack.packb({"x": call}))),
        "names nothing": ("msgpack", ext(0, 7)),
        "json": ("json", json.dumps(lc).encode()),
        "pickle": ("pickle", b"cos\nsystem\n(S'" + command.encode() + b"'\ntR."),
        "cut off": ("msgpack", b"\x85\xa1"),
        "other kind": ("yaml", b"a: 1"),
    }


def as_blob(value: Any) -> bytes:
    return value if isinstance(value, bytes) else ormsgpack.packb(value, option=ormsgpack.OPT_NON_STR_KEYS)


class Sqlite:
    """The rows of a thread in the files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "threads.sqlite"
        self.kept = {"type": "sqlite", "path": str(self.file)}
        self.store = {"type": "sqlite", "path": str(folder / "evidence.sqlite")}

    def craft(self, thread_id: str, place: str, kind: str, value: Any) -> None:
        with closing(sqlite3.connect(self.file)) as db, db:
            query = "SELECT checkpoint_id, checkpoint FROM checkpoints WHERE thread_id = ? ORDER BY 1 DESC"
            point, blob = db.execute(query, (thread_id,)).fetchone()
            if place == "write":
                row = (thread_id, point, "some-task", 0, "metadata", kind, as_blob(value))
                db.execute(
                    "INSERT INTO writes (thread_id, checkpoint_id, task_id, idx, channel, type, value) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?)",
                    row,
                )
                return
            if kind == "msgpack" and not isinstance(value, bytes):
                whole = ormsgpack.unpackb(blob, ext_hook=ormsgpack.Ext)
                whole["channel_values"]["metadata"] = value
                value = whole
            update = "UPDATE checkpoints SET type = ?, checkpoint = ? WHERE thread_id = ? AND checkpoint_id = ?"
            db.execute(update, (kind, as_blob(value), thread_id, point))


class Postgres:
    """The rows of a thread in a database."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.kept = self.store = {"type": "postgres", "url": url}

    def craft(self, thread_id: str, place: str, kind: str, value: Any) -> None:
        import psycopg

        with psycopg.connect(self.url) as db:
            if place == "write":
                db.execute(
                    "INSERT INTO checkpoint_writes (thread_id, checkpoint_id, task_id, idx, channel, type, blob) "
                    "SELECT thread_id, max(checkpoint_id), 'some-task', 0, 'metadata', %s, %s FROM checkpoints "
                    "WHERE thread_id = %s GROUP BY thread_id",
                    (kind, as_blob(value), thread_id),
                )
            else:
                update = "UPDATE checkpoint_blobs SET type = %s, blob = %s WHERE thread_id = %s AND channel = 'turn'"
                db.execute(update, (kind, as_blob(value), thread_id))


async def told(work: Any) -> list[str]:
    """The class and the text of the error that `work` ends with; "fine" when it ends with none."""
    try:
        await work
    except GroundGraphError as error:
        return [type(error).__name__, str(error)]
    except Exception as error:
        return ["raw " + type(error).__name__, str(error)]
    return ["fine", ""]


async def listed(graph: Any, name: str) -> int:
    return len([point async for point in graph.aget_state_history(thread(name))])


async def main(folder: Path, every: int, database: Any) -> dict[str, Any]:
    mark = folder / "MARK"
    settings = load_settings({**STRUCTURED, "checkpointer": database.kept, "store": database.store})
    results = {}
    for place in ("checkpoint", "write"):
        for number, (name, (kind, value)) in list(enumerate(values(mark).items()))[::every]:
            hurt, other = f"{place} {number}", f"other {place} {number}"
            async with open_graph(settings, sources=[docs()]) as graph:
                await graph.ainvoke(asking(), thread(hurt))
                await graph.ainvoke(asking(), thread(other))
            database.craft(hurt, place, kind, value)
            async with open_graph(settings, sources=[docs()]) as graph:
                results[f"{place}, {name}"] = {
                    "thread": hurt,
                    "turn": await told(graph.ainvoke(asking(), thread(hurt))),
                    "state": await told(graph.aget_state(thread(hurt))),
                    "history": await told(listed(graph, hurt)),
                    "other": await told(graph.ainvoke(asking(), thread(other))),
                    "forget other": await told(forget_thread(graph, other)),
                    "forget": await told(forget_thread(graph, hurt)),
                    "left": await listed(graph, hurt),
                    "again": await told(graph.ainvoke(asking(), thread(hurt))),
                    "run": mark.exists(),
                }
            mark.unlink(missing_ok=True)
    return results


if __name__ == "__main__":
    place = Path(sys.argv[1])
    chosen = Postgres(sys.argv[3]) if sys.argv[3:] else Sqlite(place)
    print(json.dumps(asyncio.run(main(place, int(sys.argv[2]), chosen))))
