"""The pictures of the graphs that the server offers; those of the scenarios stand beside their turns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from importlib import import_module
from pathlib import Path

from golden.searches import Task
from golden.workshop import Workshop

_SERVED = Path(__file__).resolve().parent.parent.parent / "langgraph.json"


def pictures() -> dict[str, Task]:
    """The recordings by name: `pictures/GRAPH`."""
    served = json.loads(_SERVED.read_text("utf-8"))["graphs"]
    return {f"pictures/{name}": partial(_picture, graph["path"]) for name, graph in served.items()}


async def _picture(path: str, workshop: Workshop) -> Mapping[str, str]:
    del workshop
    module, _, name = path.partition(":")
    return {".mmd": getattr(import_module(module), name).get_graph().draw_mermaid()}
