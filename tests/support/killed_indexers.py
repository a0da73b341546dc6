"""Processes that bring the index beside a database up to date; the tests of that index start them.

`python killed_indexers.py kill DATABASE KILLS SEED` changes the rows, has two processes at a time follow meanwhile,
and kills them; it prints how many it killed. `python killed_indexers.py ask DATABASE` asks once for each line that it
reads, and prints what it found. The index lies in the working directory.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

from interruptible import killed
from turns import found, ids

from groundgraph.sources.sql import SqlSource

# Rows that are always there, and numbers from which others come and go.
ROWS, GUESTS = 12, 100
# What was deleted stays written down, so that a test can tell a row that was there for a moment from one that was not.
TABLE = """CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT);
CREATE TABLE gone (place INTEGER PRIMARY KEY, id INTEGER);
CREATE TRIGGER left_behind AFTER DELETE ON notes BEGIN INSERT INTO gone (id) VALUES (old.id); END;"""


def note(name: int, version: int) -> str:
    """The text of row `name`, which is found by a word of its own and by one that all share."""
    return f"name{name} common version{version}"


def source_over(path: Path) -> SqlSource:
    """The same source in every process."""
    return SqlSource(path, table="notes", name="plant")


def change_until(path: Path, end: float, chance: random.Random) -> None:
    """Change the rows as their owner would."""
    with closing(sqlite3.connect(path, timeout=60)) as owner:
        while time.monotonic() < end:
            with owner:
                name, guest = chance.randrange(ROWS), GUESTS + chance.randrange(5)
                owner.execute("UPDATE notes SET body = ? WHERE id = ?", (note(name, time.time_ns()), name))
                if chance.random() < 0.5:
                    owner.execute("DELETE FROM notes WHERE id = ?", (guest,))
                else:
                    owner.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (guest, f"guest {time.time_ns()}"))
            time.sleep(0.02)


async def _follow(path: Path) -> None:
    source = source_over(path)
    while True:
        await source.refresh()


def kill(path: Path, kills: int, seed: int) -> None:
    """Kill so often."""
    chance = random.Random(seed)

    def change_for(seconds: float) -> None:
        change_until(path, time.monotonic() + seconds, chance)

    print(killed(lambda _: asyncio.run(_follow(path)), kills, chance, change_for))


async def _ask(path: Path) -> None:
    source = source_over(path)
    print("ready", flush=True)
    for question in sys.stdin:
        print(*ids(await found(source, question.strip(), top_k=5)), flush=True)
    await source.close()


if __name__ == "__main__":
    if sys.argv[1] == "kill":
        kill(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    else:
        asyncio.run(_ask(Path(sys.argv[2])))
