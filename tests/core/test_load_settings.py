"""Settings from Python, the environment and a file (U6, faults 9 to 11 and 66)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refused_settings import problem, problems

from groundgraph.core.errors import ConfigurationError
from groundgraph.settings.load_settings import find_settings_file, load_settings
from groundgraph.settings.yaml_file import read_yaml

pytestmark = pytest.mark.covers("U6")


def test_defaults_need_nothing():
    settings = load_settings()
    assert settings.retrieval.top_k == 5
    assert settings.configured_style == "conversational"
    assert settings.origin == ""


@pytest.mark.parametrize("placed", [dict, lambda given: {"reasoning": given}], ids=["at the top", "below reasoning"])
def test_python_wins_over_the_environment_over_the_file_over_the_defaults(file, monkeypatch, placed):
    path = file(json.dumps(placed({"retrieval": {"top_k": 7, "score_threshold": 0.5}})))
    assert load_settings(path).retrieval.top_k == 7
    monkeypatch.setenv("GROUNDGRAPH_RETRIEVAL__TOP_K", "9")
    assert load_settings(path).retrieval.top_k == 9
    assert load_settings(path).retrieval.score_threshold == 0.5
    assert load_settings().retrieval.top_k == 9
    assert load_settings(placed({"retrieval": {"top_k": 11}})).retrieval.top_k == 11
    assert load_settings(placed({"retrieval": {"score_threshold": 0.1}})).retrieval.top_k == 9


def test_keys_may_stand_below_reasoning(file):
    settings = load_settings(
        file("reasoning:\n  strategy: grounded\n  retrieval:\n    top_k: 7\nstore_provenance: false\n")
    )
    assert settings.retrieval.top_k == 7
    assert settings.store_provenance is False


@pytest.mark.parametrize("source", [{"strategy": "other"}, {"reasoning": {"strategy": "other"}}, {"reasoning": [1]}])
def test_only_the_grounded_strategy_is_offered(source):
    assert problem(source).message


@pytest.mark.covers("fault 9")
def test_an_unknown_key_names_file_line_column_and_the_nearest_key(file):
    path = file("llm:\n  model: m\nretrieval:\n  top_kk: 3\n")
    found = problem(path)
    assert (found.key, found.file, found.line, found.column) == ("retrieval.top_kk", str(path), 4, 3)
    assert "top_k" in found.message.split("known key")[1]
    assert str(found).startswith(f"{path}:4:3: retrieval.top_kk: ")


@pytest.mark.covers("fault 9")
def test_the_place_is_right_below_reasoning_and_in_lists(file):
    found = problem(file("reasoning:\n  intent:\n    mood: x\n"))
    assert (found.line, found.column) == (3, 5)
    found = problem(file("sources:\n- type: a\n  name: x\n- type: b\n  name: y\n  weight: 0\n"))
    assert (found.key, found.line, found.column) == ("sources.1.weight", 6, 3)


def test_all_problems_are_reported_at_once():
    assert {found.key for found in problems({"retrieval": {"top_k": 0, "merge": "zip"}, "typo": 1})} == {
        "retrieval.top_k",
        "retrieval.merge",
        "typo",
    }


@pytest.mark.covers("fault 10")
def test_two_sources_of_one_name_are_an_error(file):
    entry = "- {type: vector_kb, name: docs}\n"
    found = problem(file(f"sources:\n{entry}{entry}"))
    assert "docs" in found.message
    assert (found.key, found.line) == ("sources", 1)


@pytest.mark.covers("fault 11")
@pytest.mark.parametrize(
    ("key", "config"),
    [
        ("sources.0.weight", {"sources": [{"type": "t", "name": "n", "weight": 0}]}),
        ("sources.0.weight", {"sources": [{"type": "t", "name": "n", "weight": 0.5}]}),
        ("retrieval.top_k", {"retrieval": {"top_k": 0}}),
        ("retrieval.score_threshold", {"retrieval": {"score_threshold": 1.5}}),
        ("intent.num_queries", {"intent": {"num_queries": 0}}),
        ("deadlines.turn", {"deadlines": {"turn": 0}}),
        ("synthesis.style", {"synthesis": {"style": "poem"}}),
        ("synthesis.allow_parametric", {"synthesis": {"allow_parametric": "bridges"}}),
    ],
)
def test_a_value_that_cannot_work_is_an_error_naming_its_key(key, config):
    assert [found.key for found in problems(config)] == [key]


@pytest.mark.covers("fault 66")
@pytest.mark.parametrize(
    "tag", ["!!python/object:os.system", "!!python/object/apply:os.system", "!!python/name:os.system"]
)
def test_yaml_that_asks_for_a_python_object_is_rejected(file, tag, tmp_path):
    with pytest.raises(ConfigurationError):
        load_settings(file(f"llm: {tag} ['touch {tmp_path}/x']\n"))
    with pytest.raises(ConfigurationError):
        load_settings(file(f"llm:\n  model: {tag} {{}}\n"))
    assert not (tmp_path / "x").exists()


@pytest.mark.covers("fault 66")
@pytest.mark.parametrize(
    "value", ["!!python/tuple [1]", "!!python/object/apply:os.system [id]", "!!python/name:os.system ''", "!env HOME"]
)
def test_a_tag_is_refused_where_any_value_would_do(file, value):
    """A filter takes lists and texts, so only the tag itself can give it away."""
    found = problem(file(f"intent:\n  default_filters:\n    docs: {{kind: {value}}}\n"))
    assert f"the tag {value.split()[0]} is not allowed" in found.message
    assert (found.line, found.column) == (3, 18)


@pytest.mark.covers("fault 66")
def test_the_tags_of_plain_values_are_allowed(file):
    settings = load_settings(file('intent: {default_filters: {docs: {kind: !!str 5, size: !!int "5"}}}\n'))
    assert settings.intent.default_filters == {"docs": {"kind": "5", "size": 5}}


@pytest.mark.parametrize("text", ["a: [", "a: b: c", "\t- x", "a: 1\na: 2\n", "- a list", "text", "a: *nowhere"])
def test_a_file_that_is_no_mapping_is_an_error_with_its_place(file, text):
    found = problem(file(text))
    assert found.file
    assert found.line >= 1


def test_bytes_that_are_no_text_and_a_missing_file_are_errors(tmp_path):
    (tmp_path / "bad.yaml").write_bytes(b"\xff\xfe\x00")
    assert "YAML" in problem(tmp_path / "bad.yaml").message
    missing = problem(tmp_path / "none.yaml")
    assert f"no such file. It was looked for in {tmp_path}" in missing.message
    assert str(missing).startswith(f"{tmp_path / 'none.yaml'}: "), "no line of a file that is not there"
    assert str(problem(tmp_path)) == f"{tmp_path}: cannot be read: Is a directory"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("retrieval:\n", "is left empty; give it a value, or take the line out"),
        ("sources:\n", "is left empty; give it a value, or take the line out"),
        ("retrieval:\n  top_k:\n", "is left empty; give it a value, or take the line out"),
        ("retrieval: 5\n", "must be a section, with its keys below it (given: 5)"),
        ("sources: {a: 1}\n", "must be a list"),
        ("llm: {provider: openai}\n", "is missing; it has no default"),
    ],
)
def test_what_is_empty_missing_or_of_the_wrong_kind_is_told_in_words_of_ours(file, text, told):
    assert problem(file(text)).message == told


@pytest.mark.parametrize("given", [5, [1], b"retrieval: {}", load_settings()])
def test_what_is_neither_file_nor_mapping_is_never_taken_for_the_defaults(given):
    with pytest.raises(ConfigurationError, match=f"of type {type(given).__name__}"):
        load_settings(given)


def test_an_empty_file_gives_the_defaults(file):
    assert load_settings(file("# nothing\n")).retrieval == load_settings().retrieval


def plain(value) -> bool:
    if isinstance(value, dict):
        return type(value) is dict and all(type(key) is str and plain(item) for key, item in value.items())
    if isinstance(value, list):
        return type(value) is list and all(map(plain, value))
    return type(value) in (str, int, float, bool, type(None))


def test_free_values_are_plain_types_that_any_store_can_write(file):
    text = "intent:\n  default_filters:\n    docs: {year: 2024, 7: 'q', ratio: 0.50, big: 0x1F, list: [a, \"b\"]}\n"
    settings = load_settings(file(text + "sources:\n- {type: t, name: n, extra: {deep: [1, 'x']}}\n"))
    assert plain(settings.intent.default_filters)
    assert plain(settings.sources[0].options)
    assert json.dumps(settings.intent.default_filters)
    assert settings.intent.default_filters["docs"]["7"] == "q"


def test_true_and_false_stay_what_they_are_also_behind_an_anchor(file):
    text = "intent: {default_filters: {a: {x: &yes true, y: *yes, z: false}}}\n"
    for settings in (load_settings(file(text)), load_settings({"intent": {"default_filters": {"a": {"x": True}}}})):
        assert settings.intent.default_filters["a"]["x"] is True
        assert all(type(value) is bool for value in settings.intent.default_filters["a"].values())


@pytest.mark.covers("fault 9")
def test_problems_come_in_the_order_of_the_file_with_every_place(file):
    path = file(
        "reasoning:\n  strategy: other\n  synthesis:\n    allow_parametric: bridges\n    styl: x\n"
        "sources:\n- type: a\n  weight: 0\n- name: b\nbase_dir: x\ncategory_router:\n  top_k: 0\nretrieval: 3\n"
    )
    assert [(found.key, found.line, found.column) for found in problems(path)] == [
        ("strategy", 2, 3),
        ("synthesis.allow_parametric", 4, 5),
        ("synthesis.styl", 5, 5),
        ("sources.0.weight", 8, 3),
        ("sources.1.type", 9, 3),
        ("base_dir", 10, 1),
        ("category_router.top_k", 12, 3),
        ("retrieval", 13, 1),
    ]


@pytest.mark.covers("fault 11")
def test_a_value_that_fits_none_of_several_types_is_one_problem():
    found = problem({"synthesis": {"allow_parametric": "bridges"}})
    assert found.key == "synthesis.allow_parametric"
    assert found.message.count("'bridges'") == 2


@pytest.mark.covers("fault 9")
def test_a_section_at_the_top_and_below_reasoning_gives_the_place_of_the_mistake(file):
    path = file("retrieval:\n  top_k: 3\nreasoning:\n  retrieval:\n    top_kk: 3\n")
    found = problem(path)
    assert (found.key, found.line, found.column) == ("retrieval.top_kk", 5, 5)


KEYS = st.text("abc_", min_size=1, max_size=6).filter(lambda key: key not in ("type", "name", "weight", "timeout"))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-99, 99), st.text("ab ", max_size=4)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=6,
)


@pytest.mark.covers("R11")
@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_options_of_a_source_arrive_as_they_were_given(options):
    settings = load_settings({"sources": [{"type": "t", "name": "n", **options}]})
    assert settings.sources[0].options == options
    assert plain(settings.sources[0].options)


def test_paths_start_at_the_folder_of_the_file(file):
    path = file("store:\n  path: data/x.sqlite\n")
    settings = load_settings(str(path))
    assert settings.at(settings.store.path) == path.parent.resolve() / "data/x.sqlite"
    assert settings.origin == str(path)


@pytest.mark.parametrize("key", ["base_dir", "origin"])
def test_what_is_no_setting_cannot_be_set(key, file, monkeypatch):
    assert problem({key: "x"}).key == key
    assert problem(file(f"{key}: x\n")).key == key
    monkeypatch.setenv(f"GROUNDGRAPH_{key.upper()}", "/elsewhere")
    assert load_settings().origin == ""
    assert load_settings().base_dir == Path.cwd()


def test_settings_cannot_be_changed_afterwards():
    settings = load_settings()
    with pytest.raises(ValueError, match="frozen"):
        settings.store_provenance = False


def test_the_nearest_settings_file_is_found_upwards(file, tmp_path):
    path = file("{}")
    (tmp_path / "a/b").mkdir(parents=True)
    assert find_settings_file(tmp_path / "a/b") == path.resolve()
    assert read_yaml(path) == {}
