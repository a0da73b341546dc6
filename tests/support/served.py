"""A server on a free port of loopback, in a thread with a loop of its own, over documents in a folder."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from groundgraph import load_settings, open_graph
from groundgraph.graph.ingest import ingest_graph, run_ingest
from groundgraph.graph.turn_runner import TurnRunner
from groundgraph.serve.app import Served, serve_app

PUMPS = """# Pumps

## Service

Pump 17 is serviced every **90 days**. Its filter is changed once a year.

## Retired

Pump 18 is retired. It stands in hall 3.
"""


def filled(folder: Path, documents: Mapping[str, str | bytes], **settings: Any) -> Any:
    """Settings over a base in `folder` with `documents` by their names."""
    (folder / "docs").mkdir()
    for name, text in documents.items():
        (folder / "docs" / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    plain: dict[str, Any] = {"synthesis": {"style": "structured", "listing": False}}
    loaded = load_settings({**plain, **settings}).model_copy(update={"base_dir": folder})
    work = run_ingest(ingest_graph(loaded), {"paths": [str(folder / "docs")]})
    # The driver of the browser holds the event loop of a test's own thread.
    with ThreadPoolExecutor(1) as other:
        other.submit(asyncio.run, work).result()
    return loaded


Opened = Callable[[], AbstractAsyncContextManager[TurnRunner]]


@contextmanager
def serving(opened: Opened | Any, served: Served | None = None, **parts: Any) -> Iterator[str]:
    """The address of a server over what `opened` opens, or over `open_graph` where it is settings."""

    @asynccontextmanager
    async def configured() -> AsyncIterator[TurnRunner]:
        async with open_graph(opened, **parts) as graph:
            yield graph

    opens: Opened = opened if callable(opened) else configured
    begun, ended = threading.Event(), threading.Event()
    place: dict[str, Any] = {}

    async def run() -> None:
        async with opens() as graph:
            config = uvicorn.Config(
                serve_app(graph, served or Served(each_minute=1_000_000)), port=0, log_level="error", lifespan="on"
            )
            socket = config.bind_socket()
            server = uvicorn.Server(config)
            place["url"] = f"http://127.0.0.1:{socket.getsockname()[1]}"

            async def stop() -> None:
                while not server.started:
                    await asyncio.sleep(0.01)
                begun.set()
                while not ended.is_set():
                    await asyncio.sleep(0.02)
                server.should_exit = True

            try:
                await asyncio.gather(server.serve([socket]), stop())
            finally:
                socket.close()

    def work() -> None:
        try:
            asyncio.run(run())
        except BaseException as error:
            place["error"] = error
            raise
        finally:
            begun.set()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert begun.wait(60)
    try:
        if "error" in place:
            raise place["error"]
        yield place["url"]
    finally:
        ended.set()
        thread.join(60)
