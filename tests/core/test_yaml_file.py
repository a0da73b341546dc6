"""Lines and columns of keys (fault 9)."""

from __future__ import annotations

from datetime import date

import pytest

from groundgraph.core.errors import ConfigurationError
from groundgraph.settings.yaml_file import PlacedList, place_of, read_yaml

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


def read(folder, text):
    (folder / "a.yaml").write_text(text)
    return read_yaml(folder / "a.yaml")


def test_a_key_that_a_merge_brought_in_may_be_set_anew(tmp_path):
    text = "a: &a {k: 1, l: 1}\nb: &b {<<: *a, k: 2}\nc: {<<: *b, k: 3}\nd: {e: &e {<<: *a, k: 4}, <<: *e}\n"
    root = read(tmp_path, text)
    assert (root["b"], root["c"], root["d"]["k"]) == ({"k": 2, "l": 1}, {"k": 3, "l": 1}, 4)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("off", "off"), ("no", "no"), ("Yes", "Yes"), ("true", True), ("FALSE", False), ("1:30", "1:30"), ("017", 17),
        ("0o17", 15), ("0x1F", 31), ("-1_000", -1000), ("1e3", 1000.0), (".5", 0.5), ("1e", "1e"), ("~", None),
        ("", None), ("2024-05-01", date(2024, 5, 1)), ("!!str 1", "1"), ("'true'", "true"), ("=", "="), ("[]", []),
    ],
)  # fmt: skip
def test_values_are_those_of_yaml_1_2(tmp_path, written, value):
    found = read(tmp_path, f"a: {written}\n")["a"]
    assert (found, type(found) in (type(value), PlacedList)) == (value, True)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: !!python/object:x.Y {}", "1:4: the tag !!python/object:x.Y is not allowed"),
        ("a: !!bool yes", "1:4: is no YAML: the value is no !!bool"),
        ("a: !!binary aGk=", "1:4: the tag !!binary is not allowed"),
        ("? [a]\n: b", "1:3: a key must be a text"),
        ("a: 1\n~: 2", "2:1: a key must be a text"),
        ("a: 2024-13-45", "1:1: is no YAML: a value in it cannot be read"),
        ("a: \x01", "1:1: is no YAML: special characters are not allowed"),
        ("a: &x [*x]", "levels deep"),
        ("a: " + "[" * 60 + "]" * 60, "levels deep"),
        ("a: " + "[" * 100_000, "levels deep"),
        ("a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 60)), "levels deep"),
        ("a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1},' * 9}]\n" for n in range(1, 9)), "much of little"),
    ],
)  # fmt: skip
def test_what_is_no_plain_configuration_is_refused_with_its_place(tmp_path, text, told):
    with pytest.raises(ConfigurationError) as refused:
        read(tmp_path, text)
    assert told in str(refused.value)
