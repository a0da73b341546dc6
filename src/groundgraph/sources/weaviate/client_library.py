"""Loading the Weaviate client library, which takes over a second and may warn of what others will drop one day."""

from __future__ import annotations

import threading
import warnings
from importlib import import_module
from typing import Any

from groundgraph.core.blocking import run_blocking

_MODULES = ("weaviate", "weaviate.classes", "weaviate.config", "httpx")
_loaded = threading.Event()
# The filters of warnings belong to the whole process: two that change them at once would not find them as they were.
_loading = threading.Lock()


async def load_client_library() -> None:
    """Load it beside the event loop; nothing happens when it is loaded already."""
    if not _loaded.is_set():
        await run_blocking(_load)


def _load() -> None:
    with _loading, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for module in _MODULES:
            import_module(module)
    _loaded.set()


def queries() -> Any:
    """`weaviate.classes.query`, once the library is loaded."""
    return import_module("weaviate.classes.query")
