"""Sidecar files and the globs in them (K11)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.core.errors import ConfigurationError
from groundgraph.ingest.metadata import Sidecars, glob_matches

pytestmark = pytest.mark.covers("K11")


@pytest.mark.parametrize(
    ("glob", "name", "fits"),
    [
        ("*.md", "a.md", True),
        ("*.md", "deep/below/a.md", True),
        ("*.md", "a.mdx", False),
        ("docs/*.md", "docs/below/a.md", False),
        ("docs/**/a.md", "docs/a.md", True),
        ("docs/**/a.md", "docs/x/y/a.md", True),
        ("/a.md", "a.md", True),
        ("?.md", "ab.md", False),
        ("a[1].md", "a[1].md", True),
    ],
)
def test_globs(glob, name, fits):
    assert glob_matches(glob, name) is fits


@given(st.text(alphabet="abc./*?[]", min_size=1, max_size=12))
def test_a_glob_without_wildcards_fits_only_itself(name):
    literal = name.replace("*", "a").replace("?", "b").strip("/") or "a"
    assert glob_matches(literal, literal)
    assert not glob_matches(literal, literal + "x")


def sidecars(folder: Path, **texts: str) -> Sidecars:
    for name, text in texts.items():
        place = folder / name.replace("_", "/") if name != "top" else folder
        place.mkdir(parents=True, exist_ok=True)
        (place / "metadata.yaml").write_text(text, "utf-8")
    return Sidecars("metadata.yaml", folder)


def test_a_later_entry_wins_and_an_inner_folder_over_an_outer_one(tmp_path):
    read = sidecars(
        tmp_path, top="'*': {a: 1, b: 1}\n'*.md': {b: 2}\nin/x.md: {c: 3, d: 3}\n", **{"in": "x.md: {d: 4}\n"}
    )
    fields = read.fields(tmp_path / "in" / "x.md")
    assert {name: entry.value for name, entry in fields.items()} == {"a": 1, "b": 2, "c": 3, "d": 4}
    assert fields["c"].place == "metadata.yaml:3"
    assert {name: entry.value for name, entry in read.fields(tmp_path / "y.txt").items()} == {"a": 1, "b": 1}


def test_values_are_plain_json(tmp_path):
    read = sidecars(tmp_path, top="x: {day: 2026-01-05, list: [1, 'a'], map: {k: v}, yes: true, none: null, n: 1.5}\n")
    fields = {name: entry.value for name, entry in read.fields(tmp_path / "x").items()}
    assert fields == {"day": "2026-01-05", "list": [1, "a"], "map": {"k": "v"}, "yes": True, "none": None, "n": 1.5}
    assert {type(value) for value in fields.values()} == {str, list, dict, bool, type(None), float}


def test_a_document_outside_of_the_base_folder_has_the_sidecar_beside_it(tmp_path):
    base, other = tmp_path / "base", tmp_path / "other"
    base.mkdir()
    sidecars(other, top="'*': {a: 1}\n")
    sidecars(tmp_path, top="'**': {a: 2}\n")
    assert Sidecars("metadata.yaml", base).fields(other / "x.md")["a"].value == 1


def test_without_sidecars_nothing_is_read(tmp_path):
    sidecars(tmp_path, top="'*': {a: 1}\n")
    assert Sidecars(None, tmp_path).fields(tmp_path / "x.md") == {}


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("a: {b: 1}\nx: [1, 2]\n", 2, "must map a name or a glob to its fields"),
        ("a: {b: 1\n", 2, "is no YAML"),
        ("a: {b: 1}\na: {b: 2}\n", 2, "stands there twice"),
    ],
)
def test_what_is_wrong_with_a_sidecar_is_told_with_file_and_line(tmp_path, text, line, told):
    with pytest.raises(ConfigurationError, match=told) as refused:
        sidecars(tmp_path, top=text).fields(tmp_path / "x.md")
    [problem] = refused.value.problems
    assert (Path(problem.file), problem.line) == (tmp_path / "metadata.yaml", line)


@pytest.mark.parametrize("leads_to", ["nowhere.yaml", "metadata.yaml"])
def test_a_sidecar_that_is_a_link_to_nothing_is_not_passed_over(tmp_path, leads_to):
    (tmp_path / "metadata.yaml").symlink_to(tmp_path / leads_to)
    with pytest.raises(ConfigurationError, match=r"cannot be read: (it is a link to what is not|Too many)"):
        Sidecars("metadata.yaml", tmp_path).fields(tmp_path / "x.md")


@pytest.mark.covers("fault 66")
def test_a_sidecar_makes_no_object(tmp_path):
    read = sidecars(tmp_path, top=f"x: {{a: !!python/object/apply:os.system ['touch {tmp_path}/made']}}\n")
    with pytest.raises(ConfigurationError, match="is not allowed"):
        read.fields(tmp_path / "x")
    assert not (tmp_path / "made").exists()
