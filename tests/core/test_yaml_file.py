"""Lines and columns of keys (fault 9)."""

from __future__ import annotations

import pytest

from groundgraph.core.errors import ConfigurationError
from groundgraph.settings.yaml_file import place_of, read_yaml

TEXT = """\
base: &base
  top_k: 1
retrieval:
  <<: *base
  merge: x
reasoning:
  retrieval:
    score_threshold: 3
    list:
      - a: 1
      - b:
          c: [1, {d: 2}]
"""


@pytest.fixture
def root(tmp_path):
    (tmp_path / "a.yaml").write_text(TEXT)
    return read_yaml(tmp_path / "a.yaml")


@pytest.mark.covers("fault 9")
@pytest.mark.parametrize(
    ("location", "place"),
    [
        (("base",), (1, 1)),
        (("retrieval", "merge"), (5, 3)),
        (("retrieval", "score_threshold"), (8, 5)),
        (("retrieval", "list", 1, "b", "c", 1, "d"), (12, 19)),
        (("retrieval", "list", 1, "nope"), (11, 9)),
        (("retrieval", "list", 7), (9, 5)),
        (("reasoning", "retrieval"), (7, 3)),
        (("retrieval",), (7, 3)),
        (("nowhere",), None),
    ],
)
def test_the_deepest_key_that_is_there_gives_the_place(root, location, place):
    assert place_of(root, location) == place


@pytest.mark.covers("fault 9")
def test_a_key_that_a_merge_brought_in_has_the_place_of_its_section(tmp_path):
    (tmp_path / "a.yaml").write_text("base: &base {top_k: 1}\nretrieval:\n  <<: *base\n")
    assert place_of(read_yaml(tmp_path / "a.yaml"), ("retrieval", "top_k")) == (2, 1)


@pytest.mark.covers("U6")
def test_a_key_that_stands_twice_is_named(tmp_path):
    (tmp_path / "a.yaml").write_text("retrieval:\n  top_k: 5\n  top_k: 6\n")
    with pytest.raises(ConfigurationError, match=r"a\.yaml:3:3: is no YAML: the key 'top_k' stands there twice"):
        read_yaml(tmp_path / "a.yaml")
