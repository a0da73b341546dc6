"""Errors travel between processes: a copy says what the original says."""

from __future__ import annotations

import copy
import pickle
import re

import pytest

from groundgraph.core import errors
from groundgraph.core.errors import (
    ConfigurationError,
    GroundGraphError,
    IntentInvalid,
    PageNotLoaded,
    Problem,
    RerankerFailed,
    SchemaChanged,
    ThreadConflict,
)

WITH_MORE = [
    ThreadConflict("two wrote", kept=True),
    ConfigurationError([Problem("llm", "is missing", "a.yaml", 3, 1), Problem("top_k", "is low")]),
    IntentInvalid("no intent", rendered="{{"),
    SchemaChanged("gone", field="title"),
    RerankerFailed("busy", status_code=429, headers={"Retry-After": "2"}),
    ThreadConflict("both wrote", kept=True),
    PageNotLoaded("content", "no text", url="https://a.example/", hop="https://b.example/"),
]
PLAIN = [
    kind("what is wrong")
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, GroundGraphError) and kind not in (PageNotLoaded, ThreadConflict)
]


def test_the_tree_at_the_head_of_the_module_names_every_error_below_its_parent() -> None:
    lines = str(errors.__doc__).splitlines()
    named = [(line.index(found[0]), found[0]) for line in lines if (found := re.findall(r"[A-Z]\w+(?=  |$)", line))]
    parents = {
        name: next((other for less, other in reversed(named[:place]) if less < indent), "RuntimeError")
        for place, (indent, name) in enumerate(named)
    }
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, GroundGraphError)]
    assert parents == {kind.__name__: kind.__bases__[0].__name__ for kind in kinds}


@pytest.mark.parametrize("error", [*WITH_MORE, *PLAIN], ids=lambda error: type(error).__name__)
def test_an_error_can_be_copied_and_sent_to_another_process(error: GroundGraphError) -> None:
    for same in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(same) is type(error)
        assert str(same) == str(error)
        assert vars(same) == vars(error)
