"""Registry: names, third parties and helpful errors (R11)."""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from groundgraph.core import registry as registry_module
from groundgraph.core.errors import ConfigurationError, UnknownName
from groundgraph.core.registry import Registry, nearest


@pytest.fixture
def third_party(monkeypatch):
    points = EntryPoints(
        [
            EntryPoint("join", "os.path:join", "groundgraph.tests"),
            EntryPoint("broken", "no_such_module:x", "groundgraph.tests"),
        ]
    )
    monkeypatch.setattr(registry_module, "entry_points", points.select)


def test_a_taken_name_is_refused():
    colours = Registry("colour", "groundgraph.tests")
    colours.register("red", 1)
    with pytest.raises(ConfigurationError, match="'red' is registered already"):
        colours.register("red", 2)
    assert colours.get("red") == 1


def test_an_unknown_name_lists_what_is_known_and_offers_the_nearest():
    colours = Registry("colour", "groundgraph.tests")
    for name in ("red", "green", "blue"):
        colours.register(name, name)
    with pytest.raises(UnknownName) as caught:
        colours.get("gren", key="paint.colour")
    message = str(caught.value)
    assert message == ("paint.colour: there is no colour 'gren'. Did you mean 'green'? Known: blue, green, red.")
    with pytest.raises(UnknownName, match="Known: none"):
        Registry("colour", "groundgraph.tests").get("red")


@pytest.mark.covers("R11")
def test_third_parties_register_by_entry_point(third_party):
    import os.path

    functions = Registry("function", "groundgraph.tests")
    functions.register("own", len)
    assert functions.names() == ["broken", "join", "own"]
    assert functions.get("join") is os.path.join
    assert functions.get("own") is len
    with pytest.raises(ModuleNotFoundError):
        functions.get("broken")


@pytest.mark.covers("R11")
def test_an_own_name_wins_over_a_third_party(third_party):
    functions = Registry("function", "groundgraph.tests")
    functions.register("join", len)
    assert functions.get("join") is len


def test_nearest_offers_only_what_is_similar():
    assert nearest("sqlite", ["sqlit", "weaviate"]) == " Did you mean 'sqlit'?"
    assert nearest("xyz", ["weaviate"]) == ""


@pytest.mark.covers("K4")
def test_a_reserved_name_cannot_be_registered_again():
    colours = Registry("colour", "groundgraph.tests")
    colours.register("red", 1, reserved=True)
    with pytest.raises(ConfigurationError, match=r"'red' is groundgraph's own.*reserved"):
        colours.register("red", 2)
    assert colours.get("red") == 1


@pytest.mark.covers("K4")
def test_an_entry_point_that_claims_a_reserved_name_never_gets_it_and_is_named(third_party):
    functions = Registry("function", "groundgraph.tests")
    functions.register("join", len, reserved=True)
    assert functions.get("join") is len
    for look_up in (functions.names, lambda: functions.get("broken")):
        with pytest.raises(ConfigurationError, match=r"entry point os\.path:join claims the function 'join'"):
            look_up()
