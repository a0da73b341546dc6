"""One of several processes that answer on one thread of a SQLite file: `python two_processes.py FOLDER NAME TURNS`.

Prints a line for each turn: "kept QUESTION", or "conflict" and whether it says that the turn was kept. A turn that was
not kept is asked again.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from turns import docs, thread

from groundgraph import load_settings, open_graph
from groundgraph.core.errors import ThreadConflict

SETTINGS = {"intent": {"mode": "static"}, "synthesis": {"style": "structured"}}


async def main(folder: Path, name: str, turns: int) -> None:
    settings = load_settings(SETTINGS).model_copy(update={"base_dir": folder})
    async with open_graph(settings, sources=[docs()]) as graph:
        print("ready", flush=True)
        for number in range(turns):
            question, asked = f"grant types {name}{number}", False
            while not asked:
                try:
                    await graph.ainvoke({"question": question}, thread())
                    asked = True
                    print("kept", question, flush=True)
                except ThreadConflict as error:
                    asked = error.kept
                    print("conflict", error.kept, flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
