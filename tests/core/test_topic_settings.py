"""The options of topic indices: which key belongs where, and what goes over what (X5)."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from refused_settings import problem, problems

from groundgraph import load_settings
from groundgraph.settings.topics import HeadingMatchSettings, TopicIndexOptions, TopicIndexSettings

pytestmark = pytest.mark.covers("X5")

# Of each option three values: of the configuration, of the profile, of the intent.
CELLS = {
    "heading_tree": {
        "entry_strategy": ("both", "vector", "heading_match"),
        "seed_score_threshold": (0.1, 0.2, 0.4),
        "seed_max_results": (1, 2, 3),
        "min_heading_depth": (0, 2, 3),
        "expansion_mode": ("subtree", "children", "leaves"),
        "max_expansion_depth": (4, None, 2),
        "max_expanded_results": (1, 2, 3),
        "resolution_prompt": ("a", "b", "c"),
        "max_headings_for_llm": (1, 2, 3),
    },
    "cluster": {
        "cluster_threshold": (0.1, 0.2, 0.3),
        "min_cluster_size": (1, 3, 4),
        "top_clusters": (1, 2, 4),
        "max_results_per_cluster": (1, 2, 3),
        "max_total_results": (1, 2, 3),
        "centroid_score_threshold": (0.1, 0.3, 0.4),
        "label_min_word_length": (1, 2, 4),
        "label_top_terms": (1, 2, 4),
        "label_stopwords": (["a"], ["b"], ["c"]),
    },
}
ROWS = [(kind, name, *cell) for kind, names in CELLS.items() for name in names for cell in product((0, 1), repeat=3)]


def test_every_option_has_its_cells():
    assert {*CELLS["heading_tree"], *CELLS["cluster"], "heading_match"} == set(TopicIndexOptions.model_fields)


@pytest.mark.parametrize(("kind", "name", "configured", "profiled", "asked"), ROWS)
def test_the_intent_goes_over_the_profile_and_that_over_the_configuration(kind, name, configured, profiled, asked):
    own, of_profile, of_intent = CELLS[kind][name]
    settings = TopicIndexSettings(
        type=kind,
        **({name: own} if configured else {}),
        scope_profiles={"broad": {name: of_profile}} if profiled else {},
    )
    options, wrong = settings.in_force("broad", {name: of_intent} if asked else None)
    default = TopicIndexOptions.model_fields[name].default
    expected = of_intent if asked else of_profile if profiled else own if configured else default
    assert getattr(options, name) == expected
    assert wrong == []
    # Another scope has no part in the profile.
    options, _ = settings.in_force("exact", None)
    assert getattr(options, name) == (own if configured else default)


def test_a_part_of_heading_match_leaves_the_rest_of_it():
    settings = TopicIndexSettings(
        type="heading_tree",
        heading_match=HeadingMatchSettings(min_word_length=3, stopwords=["x"]),
        scope_profiles={"focused": {"heading_match": {"min_heading_depth": 2}}},
    )
    options, _ = settings.in_force("focused", {"heading_match": {"stopwords": ["y"]}})
    assert options.heading_match == HeadingMatchSettings(min_word_length=3, min_heading_depth=2, stopwords=["y"])


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ({"expansion_mod": "leaves"}, "'expansion_mod' is no option of a topic index. Did you mean 'expansion_mode'?"),
        ({"max_expanded_results": 0}, "max_expanded_results: Input should be greater than 0"),
        ({"heading_match": {"x": 1}}, "'heading_match.x' is no option of a topic index."),
        ({"type": "cluster"}, "the type of the index stays 'heading_tree'"),
        ("leaves", "must be a mapping of options, not str"),
    ],
)
def test_what_an_intent_cannot_set_is_left_out_and_told(override, told):
    settings = TopicIndexSettings(type="heading_tree")
    options, wrong = settings.in_force("focused", override)
    assert options == settings
    assert wrong == [told]


def test_the_rest_of_an_override_counts_and_keys_of_the_other_type_do_nothing():
    settings = TopicIndexSettings(type="heading_tree")
    given_options = {"nope": 1, "expansion_mode": "leaves", "top_clusters": 1, "type": "heading_tree"}
    options, wrong = settings.in_force("focused", given_options)
    assert options.expansion_mode == "leaves"
    assert len(wrong) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*TopicIndexOptions.model_fields, "x"]), JSON, max_size=4) | JSON)
def test_any_override_gives_valid_options(override):
    options, wrong = TopicIndexSettings(type="heading_tree").in_force("focused", override)
    TopicIndexOptions.model_validate(options.model_dump(include=set(TopicIndexOptions.model_fields)))
    assert all(isinstance(sentence, str) for sentence in wrong)


CONFIG = """sources:
  - type: knowledge_base
    topic_index:
      type: heading_tree
      top_clusters: 3
      scope_profiles:
        focused: {max_total_results: 3}
        broad: {seed_max_results: 0}
"""


def test_wrong_options_are_refused_with_their_places(tmp_path: Path):
    (tmp_path / "groundgraph.yaml").write_text(CONFIG, "utf-8")
    wrong = problem(tmp_path / "groundgraph.yaml")
    assert (wrong.key, wrong.line) == ("sources.0.topic_index.scope_profiles.broad.seed_max_results", 8)
    (tmp_path / "groundgraph.yaml").write_text(CONFIG.replace("seed_max_results: 0", "seed_max_results: 1"), "utf-8")
    wrong = problems(tmp_path / "groundgraph.yaml")
    assert [(one.key, one.line, one.column) for one in wrong] == [
        ("sources.0.topic_index.top_clusters", 5, 7),
        ("sources.0.topic_index.scope_profiles.focused.max_total_results", 7, 19),
    ]
    assert "belongs to type 'cluster', but the type is 'heading_tree'" in str(wrong[0])


def test_an_index_needs_a_type_and_nothing_is_none():
    with pytest.raises(ValidationError, match="type"):
        TopicIndexSettings.model_validate({"expansion_mode": "leaves"})
    settings = load_settings(
        {"sources": [{"type": "knowledge_base", "topic_index": {}}], "knowledge_base": {"topic_index": {}}}
    )
    assert settings.sources[0].topic_index is None
    assert settings.knowledge_base.topic_index is None
