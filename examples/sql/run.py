"""Asks a table: `python run.py "How many critical incidents in March 2026?"`."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from pathlib import Path

from groundgraph import TurnOutput, load_settings, turn_graph

HERE = Path(__file__).parent
ROWS = [
    ("pump 17", "critical", "2026-03-02", 1200.0, "The seal of pump 17 burst and hall 4 was under water."),
    ("pump 17", "low", "2026-03-09", 80.0, "Pump 17 hums; a screw of the housing was loose."),
    ("pump 18", "critical", "2026-03-21", 950.5, "Pump 18 ran hot and switched itself off."),
    ("press 2", "critical", "2026-04-05", 4300.0, "The press stopped in the middle of a stroke; a valve was stuck."),
    ("press 2", "high", "2026-04-17", 310.0, "Oil under press 2, from a hose that had been changed in March."),
]


def write_table(file: Path) -> None:
    """The table that the questions are about; yours is there already."""
    with sqlite3.connect(file) as database:
        database.execute("CREATE TABLE incidents (machine TEXT, severity TEXT, opened TEXT, cost REAL, report TEXT)")
        database.executemany("INSERT INTO incidents VALUES (?, ?, ?, ?, ?)", ROWS)
    database.close()


async def answer(question: str) -> TurnOutput:
    if not (HERE / "incidents.sqlite").exists():
        write_table(HERE / "incidents.sqlite")
    return await turn_graph(load_settings(HERE / "groundgraph.yaml")).ainvoke({"question": question})


if __name__ == "__main__":
    turn = asyncio.run(answer(" ".join(sys.argv[1:])))
    print(turn["answer"], *turn["notes"], sep="\n")
