"""`groundgraph` itself: names that are loaded when they are first used, by whichever thread (U1, L10)."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import groundgraph
from groundgraph.core.lazy_names import HOMES


def printed(code: str) -> str:
    """What a process of its own prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# The first thread begins with the package `groundgraph.sources` and is going to load a module of it, with which
# another one has begun. Without an order among them Python gives one of the two a `_DeadlockError`.
AT_ONCE = """
import gc, importlib.abc, sys, threading, time
import groundgraph

inside, errors = threading.Event(), []

class Slow(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "groundgraph.sources" and not inside.is_set():
            inside.set()
            time.sleep(0.5)

def load(name):
    try:
        getattr(groundgraph, name)
    except BaseException as error:
        errors.append(f"{name}: {error!r}")

sys.meta_path.insert(0, Slow())
threads = [threading.Thread(target=load, args=(name,)) for name in ("InMemorySource", *groundgraph.__all__)]
threads[0].start()
inside.wait()
for thread in threads[1:]:
    thread.start()
for thread in threads:
    thread.join()
print(errors, gc.isenabled())
"""


@pytest.mark.covers("U1")
def test_threads_may_load_all_names_at_once() -> None:
    assert printed(AT_ONCE) == "[] True"


@pytest.mark.covers("L10")
@pytest.mark.parametrize("wanted", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_looking_for_garbage_goes_on_as_it_was_also_when_loading_fails(wanted: bool) -> None:
    code = f"""
import gc, sys
import groundgraph
if not {wanted}:
    gc.disable()
groundgraph.Context
loaded = gc.isenabled()
sys.modules["langgraph"] = None
try:
    groundgraph.turn_graph
except ImportError:
    print(loaded, gc.isenabled())
groundgraph.load_settings
"""
    assert printed(code) == f"{wanted} {wanted}"


@pytest.mark.covers("L10")
@pytest.mark.parametrize("frozen", [True, False])
def test_what_was_loaded_is_old_and_what_was_frozen_stays_frozen(frozen: bool) -> None:
    code = f"""
import gc
import groundgraph
if {frozen}:
    gc.freeze()
groundgraph.Context
print(gc.get_freeze_count() > 0, len(gc.get_objects(generation=0)) < 2000)
"""
    # Where somebody froze something, all stays as it is.
    assert printed(code) == f"{frozen} {not frozen}"


@pytest.mark.covers("U1")
def test_what_is_listed_is_what_there_is() -> None:
    public = [name for name in dir(groundgraph) if not name.startswith("_")]
    loaded = {name for name in public if f"groundgraph.{name}" in sys.modules}
    assert set(public) - loaded == set(groundgraph.__all__)
    assert list(groundgraph.__all__) == sorted(groundgraph.__all__)
    assert all(getattr(groundgraph, name).__name__ == name for name in groundgraph.__all__)
    with pytest.raises(AttributeError, match="turngraph"):
        groundgraph.turngraph  # noqa: B018


@pytest.mark.covers("U1")
def test_a_type_checker_sees_the_names_that_a_program_gets() -> None:
    tree = ast.parse(Path(groundgraph.__file__).read_text("utf-8"))
    told = {
        alias.asname: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    assert sorted(told) == groundgraph.__all__
    assert all(getattr(import_module(home), name) is getattr(groundgraph, name) for name, home in told.items())
    assert printed("from groundgraph import *; print(turn_graph.__name__, 'gc' in dir())") == "turn_graph False"


# What 0.1 had in a module that moved.
WRITTEN_FOR_0_1 = {
    "core.context": "Context",
    "core.load_settings": "load_settings",
    "core.settings": "Settings",
    "core.text": "stems",
    "graph.load_provenance": "load_provenance",
    "graph.query_bot": "QueryBot",
    "graph.query_bot_async": "AsyncQueryBot",
    "graph.tracing": "traced_embedder",
    "graph.turn_tool": "turn_tool",
    "nodes.ingest.load_document": "load_document",
    "report.turn_text": "turn_text",
}


def test_every_module_that_moved_has_a_name_of_0_1_to_be_found_by() -> None:
    assert {f"groundgraph.{module}" for module in WRITTEN_FOR_0_1} == set(HOMES)


# The module that is there now is forgotten before each, so that it is the old name which loads it.
ONE_AFTER_THE_OTHER = """
import sys
from importlib import import_module
from groundgraph.core.lazy_names import HOMES
for module, name in {written}.items():
    sys.modules.pop(HOMES["groundgraph." + module], None)
    exec(f"from groundgraph.{{module}} import {{name}} as then")
    then_module, home = "groundgraph." + module, import_module(HOMES["groundgraph." + module])
    print(module, then is getattr(home, name), import_module(then_module) is home,
          home.__spec__.name == home.__name__ == HOMES[then_module])
"""


def test_a_module_of_0_1_that_moved_is_the_one_that_is_there_now() -> None:
    told = printed(ONE_AFTER_THE_OTHER.format(written=WRITTEN_FOR_0_1)).splitlines()
    assert told == [f"{module} True True True" for module in WRITTEN_FOR_0_1]
