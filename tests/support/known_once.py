"""What is the same for each of thousands of graphs and clients of models is found out once in a process."""

from __future__ import annotations

import dis
import functools
import inspect
import tempfile
from collections.abc import Generator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import certifi
import langgraph.graph._branch as graph_branch
import langgraph.graph.state as graph_state
import pytest
from langgraph._internal import _runnable, _serde
from langgraph.pregel import _utils


@pytest.fixture(scope="session", autouse=True)
def known_once() -> Generator[None, None, None]:
    """LangGraph reads types and the bytecode of steps for two thirds of the time of building a graph; and each client
    of a model reads 140 public certificates for a 50th of a second, of which no server of a test has one."""
    first, end, _ = Path(certifi.where()).read_text("utf-8").partition("-----END CERTIFICATE-----\n")
    with pytest.MonkeyPatch.context() as patch, tempfile.NamedTemporaryFile("w", suffix=".pem") as one:
        one.write(first + end)
        one.flush()
        patch.setenv("SSL_CERT_FILE", one.name)
        patch.setattr(graph_state, "get_type_hints", _hints(graph_state.get_type_hints))
        patch.setattr(graph_branch, "get_type_hints", _hints(graph_branch.get_type_hints))
        signatures = {**vars(inspect), "signature": _by_code(inspect.signature)}
        patch.setattr(_runnable, "inspect", SimpleNamespace(**signatures))
        patch.setattr(_serde, "collect_allowlist_from_schemas", _allowed(_serde.collect_allowlist_from_schemas))
        instructions = functools.cache(lambda code: tuple(dis.get_instructions(code)))
        patch.setattr(_utils, "dis", SimpleNamespace(get_instructions=instructions))
        yield


def _hints(read: Any) -> Any:
    of_class, of_function = functools.cache(read), _by_code(read)

    def hints(of: Any, **how: Any) -> Any:
        return of_class(of, **how) if isinstance(of, type) else of_function(of, **how)

    return hints


def _by_code(read: Any) -> Any:
    """What `read` tells of a function by the function's code: the steps of each graph are others, made of the same
    code, and would be kept with all that they hold. Only the defaults of their parameters might differ."""
    known: dict[tuple[Any, ...], Any] = {}

    def told(of: Any, **how: Any) -> Any:
        code = getattr(of, "__code__", None)
        if code is None or hasattr(of, "__wrapped__"):
            return read(of, **how)
        key = (type(of), code, *how.items())
        if key not in known:
            known[key] = read(of, **how)
        return known[key]

    return told


def _allowed(read: Any) -> Any:
    known: dict[tuple[Any, ...], frozenset[Any]] = {}

    def allowed(*, schemas: Any = None, channels: Any = None) -> set[Any]:
        if not schemas:
            return set(read(schemas=schemas, channels=channels))
        # The channels are those of the schemas.
        key = tuple(schemas)
        if key not in known:
            known[key] = frozenset(read(schemas=schemas, channels=channels))
        return set(known[key])

    return allowed
