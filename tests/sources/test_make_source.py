"""A third party registers a class of a source, or a function that makes one (R11)."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundgraph import GroundedSource, load_settings, turn_graph
from groundgraph.core.errors import ConfigurationError
from groundgraph.graph.configured_sources import make_source
from groundgraph.sources.contract import SourceOptions, source_types

pytestmark = pytest.mark.covers("R11")


class Rota(GroundedSource):
    source_type = "rota"

    def __init__(self, name: str, *, day: str = "Monday") -> None:
        self._name, self.day = name, day

    @property
    def name(self) -> str:
        return self._name

    async def query(self, intent, *, top_k=5, score_threshold=0.0):
        return []


class Whole(Rota):
    def __init__(self, entry: SourceOptions) -> None:
        super().__init__(entry.name, day=entry.options["day"])


def entry(**options) -> SourceOptions:
    return SourceOptions("desk", options, Path(), "sources[0]")


@pytest.mark.parametrize("factory", [Rota, Whole, lambda options: Rota(options.name, day=options.options["day"])])
def test_a_class_gets_name_and_options_and_a_function_the_entry(factory):
    made = make_source(factory, entry(day="Friday"))
    assert isinstance(made, Rota)
    assert (made.name, made.day) == ("desk", "Friday")


def test_an_option_that_the_class_does_not_know_is_named_with_its_place():
    with pytest.raises(ConfigurationError, match=r"sources\[0\]: Rota: .*'dya'"):
        make_source(Rota, entry(dya="Friday"))


def test_what_is_no_source_is_refused():
    with pytest.raises(ConfigurationError, match="made no source"):
        make_source(lambda options: options, entry())


def test_an_entry_point_may_be_the_class(tmp_path, monkeypatch):
    package = tmp_path / "rota_plugin-1.0.dist-info"
    package.mkdir()
    (tmp_path / "rota_plugin.py").write_text(
        "from groundgraph import InMemorySource\n\n\n"
        "class Desk(InMemorySource):\n"
        "    def __init__(self, name, text):\n"
        "        super().__init__([text], name=name)\n"
    )
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: rota-plugin\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[groundgraph.sources]\nrota_desk = rota_plugin:Desk\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    config = {"sources": [{"type": "rota_desk", "name": "desk", "text": "Ada is on duty on Friday."}]}
    try:
        result = turn_graph(load_settings(config)).invoke({"question": "Who is on duty on Friday?"})
    finally:
        source_types._entries.pop("rota_desk", None)
    assert result["citations"][0]["quote"] == "Ada is on duty on Friday."
