"""The index over headings (X1, X2): every key of it, and what it may never do."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from filled_base import fill
from topic_bases import GUIDE, ask, base, headings, indexed

from groundgraph.core.document import MARKDOWN, Document, Part
from groundgraph.core.errors import ConfigurationError, ModelError, SourceUnavailable
from groundgraph.core.failure import collect_degradations
from groundgraph.core.intent import RetrievalIntent
from groundgraph.search.topics import Outline, Place
from groundgraph.settings.topics import TopicIndexSettings
from groundgraph.sources.knowledge_base import KnowledgeBaseSource
from groundgraph.sources.topic_index import TopicIndexSource
from groundgraph.sources.topic_index.asked import Asked

SAFETY = ["Safety", "Fire", "Water", "Pumps", "Power"]
WORDS = ["linux", "windows", "smoke", "flood", "impeller", "shock", "thanks"]


@pytest.fixture
async def guide(tmp_path: Path) -> KnowledgeBaseSource:
    return await base(tmp_path / "kb.sqlite", {"guide": GUIDE})


@pytest.fixture
async def with_vectors(tmp_path: Path) -> KnowledgeBaseSource:
    return await base(tmp_path / "vectors.sqlite", {"guide": GUIDE}, words=WORDS)


@pytest.mark.covers("X1")
async def test_a_heading_that_matches_gives_everything_below_it_in_order(guide):
    found = await ask(indexed(guide, entry_strategy="heading_match"), "What about safety?")
    assert headings(found) == SAFETY
    assert [result.metadata["position"] for result in found] == sorted(r.metadata["position"] for r in found)
    assert {result.metadata["found_under"] for result in found} == {"Guide > Safety"}
    assert found[1].metadata["headings"] == ["Guide", "Safety", "Fire"]


@pytest.mark.covers("X1")
async def test_the_subtree_is_fetched_from_the_store_whatever_the_seeds_are(tmp_path):
    sections = "\n\n".join(f"## Part {n}\n\nsome words of number {n}" for n in range(30))
    source = await base(tmp_path / "many.sqlite", {"m": f"# Zebra\n\nintro\n\n{sections}", "other": "# O\n\ntext"})
    index = indexed(source, seed_max_results=1, entry_strategy="heading_match", heading_match={"min_heading_depth": 0})
    assert len(await ask(index, "zebra")) == 31


@pytest.mark.covers("X1")
async def test_entry_strategy_decides_what_leads_to_a_heading(with_vectors):
    question = "smoke flood shock impeller"
    assert await ask(indexed(with_vectors, entry_strategy="heading_match"), question) == []
    by_vector = await ask(indexed(with_vectors, entry_strategy="vector"), question, 0.1)
    assert headings(by_vector) == SAFETY, "four sections of one chapter are the chapter"
    assert headings(await ask(indexed(with_vectors, entry_strategy="both"), question, 0.1)) == SAFETY
    both = await ask(indexed(with_vectors, entry_strategy="both"), "credits smoke")
    assert {"Credits", "Fire"} <= set(headings(both))


@pytest.mark.covers("X1")
async def test_seed_score_threshold_drops_weak_passages(with_vectors):
    strict = indexed(with_vectors, entry_strategy="vector", seed_score_threshold=0.95)
    lenient = indexed(with_vectors, entry_strategy="vector", seed_score_threshold=0.1)
    assert await ask(strict, "smoke credits thanks flood") == []
    assert await ask(lenient, "smoke credits thanks flood")


@pytest.mark.covers("X5")
async def test_the_score_threshold_of_the_retrieval_is_about_the_seeds(guide):
    index = indexed(guide)
    assert headings(await ask(index, "safety of cargo ships in arctic storms", 0.2)) == SAFETY
    assert await ask(index, "safety of cargo ships in arctic storms", 0.9) == []


@pytest.mark.covers("X1")
async def test_seed_max_results_bounds_headings_and_passages(guide):
    question = "fire or water or power or credits or linux"
    assert len({r.metadata["found_under"] for r in await ask(indexed(guide, seed_max_results=10), question)}) == 5
    assert len({r.metadata["found_under"] for r in await ask(indexed(guide, seed_max_results=2), question)}) <= 3


@pytest.mark.covers("X1")
async def test_min_heading_depth_keeps_a_passage_from_standing_for_the_title(with_vectors):
    titled = indexed(with_vectors, entry_strategy="vector", min_heading_depth=0)
    plain = indexed(with_vectors, entry_strategy="vector", min_heading_depth=1)
    deep = indexed(with_vectors, entry_strategy="vector", min_heading_depth=2)
    question = "linux windows smoke flood shock thanks"
    assert {r.metadata.get("found_under") for r in await ask(titled, question, 0.1)} == {"Guide"}
    assert "Guide" not in {r.metadata.get("found_under") for r in await ask(plain, question, 0.1)}
    assert "Guide > Safety" not in {
        r.metadata.get("found_under") for r in await ask(deep, "smoke flood shock impeller", 0.1)
    }


@pytest.mark.covers("X1")
@pytest.mark.parametrize(
    ("settings", "question", "count"),
    [
        ({}, "guide", 0),
        ({"min_heading_depth": 0}, "guide", 11),
        ({"min_heading_depth": 2}, "safety", 0),
        ({"min_heading_depth": 2}, "fire", 1),
        ({"stopwords": ["Safety"]}, "safety", 0),
        ({"stopwords": ["Safety"]}, "fire", 1),
    ],
)
async def test_heading_match_leaves_shallow_headings_and_own_stopwords_out(guide, settings, question, count):
    index = indexed(guide, entry_strategy="heading_match", heading_match=settings)
    assert len(await ask(index, question)) == count


@pytest.mark.covers("X1")
async def test_heading_match_min_word_length_leaves_short_words_out(tmp_path):
    source = await base(tmp_path / "s.sqlite", {"d": "# D\n\n## Go\n\none\n\n## Python\n\ntwo"})
    assert headings(await ask(indexed(source, entry_strategy="heading_match"), "go")) == ["Go"]
    longer = indexed(source, entry_strategy="heading_match", heading_match={"min_word_length": 3})
    assert await ask(longer, "go") == []
    assert headings(await ask(longer, "python")) == ["Python"]


@pytest.mark.covers("X2")
@pytest.mark.parametrize(
    ("depth", "mode", "expected"),
    [
        (None, "subtree", SAFETY),
        (None, "children", ["Fire", "Water", "Power"]),
        (None, "leaves", ["Fire", "Pumps", "Power"]),
        (1, "subtree", ["Safety", "Fire", "Water", "Power"]),
        (0, "subtree", ["Safety"]),
        (1, "leaves", ["Fire", "Water", "Power"]),
        (0, "children", ["Safety"]),
    ],
)
async def test_expansion_mode_and_max_expansion_depth(guide, depth, mode, expected):
    index = indexed(guide, entry_strategy="heading_match", expansion_mode=mode, max_expansion_depth=depth)
    assert headings(await ask(index, "safety")) == expected


@pytest.mark.covers("X2")
async def test_max_expanded_results_cuts_and_keeps_the_best_passage(with_vectors):
    question = "safety shock"
    assert set(headings(await ask(indexed(with_vectors), question, 0.1))) == set(SAFETY)
    found = await ask(indexed(with_vectors, max_expanded_results=3), question, 0.1)
    assert len(found) == 3
    assert "Power" in headings(found), "the passage that matches best is the last of its chapter"


class Chooser:
    def __init__(self, *places: int, error: str = "") -> None:
        self.places, self.error = list(places), error
        self.calls: list[tuple[str, str, list[tuple[str, ...]]]] = []

    async def __call__(self, instruction: str, question: str, paths: Sequence[tuple[str, ...]]) -> list[int]:
        self.calls.append((instruction, question, list(paths)))
        if self.error:
            raise ModelError(self.error)
        return self.places


def choosing(source: KnowledgeBaseSource, chooser: Chooser, **options: object) -> TopicIndexSource:
    settings = TopicIndexSettings(type="heading_tree", resolution_prompt="Choose well.", **options)  # type: ignore[arg-type]
    return TopicIndexSource(source, settings, choose=chooser)


@pytest.mark.covers("X3")
async def test_a_model_chooses_among_the_headings(guide):
    chooser = Chooser(0)
    found = await ask(choosing(guide, chooser), "safety")
    [(instruction, question, paths)] = chooser.calls
    assert (instruction, question) == ("Choose well.", "safety")
    assert paths[0] == ("Guide", "Install")
    assert headings(found) == ["Install", "Linux", "Servers", "Windows"]


@pytest.mark.covers("X3")
async def test_max_headings_for_llm_keeps_those_that_something_led_to(guide):
    chooser = Chooser(0)
    await ask(choosing(guide, chooser, max_headings_for_llm=2), "pumps")
    assert chooser.calls[0][2] == [("Guide", "Safety"), ("Guide", "Safety", "Water")]
    await ask(choosing(guide, chooser, max_headings_for_llm=100), "pumps")
    assert len(chooser.calls[1][2]) == 10, "all but the title"


@pytest.mark.covers("X3")
async def test_a_model_that_fails_gives_way_to_the_choice_by_rule_and_it_is_told(guide):
    with collect_degradations() as told:
        found = await ask(choosing(guide, Chooser(error="it is down")), "safety")
    assert headings(found) == SAFETY
    assert [(one["part"], one["reason"]) for one in told] == [("heading_choice", "it is down")]


@pytest.mark.covers("X3")
async def test_without_a_model_the_prompt_is_refused(guide):
    with pytest.raises(ConfigurationError, match="resolution_prompt: asks a model"):
        indexed(guide, resolution_prompt="Choose.")


@pytest.mark.covers("R12")
async def test_a_base_without_headings_is_refused_with_the_reason(tmp_path):
    source = await base(tmp_path / "plain.sqlite", {"d": "just words"})
    with pytest.raises(SourceUnavailable, match="works with headings, and none of its 1 passages has one"):
        await ask(indexed(source), "words")


@pytest.mark.covers("X1")
async def test_vectors_need_a_model(guide):
    with pytest.raises(ConfigurationError, match="entry_strategy: 'vector' works with vectors"):
        indexed(guide, entry_strategy="vector")


@pytest.mark.covers("X5")
@pytest.mark.parametrize(
    ("option", "told"),
    [
        ({"entry_strategy": "vector"}, "scope_profiles.broad.entry_strategy: 'vector' works with vectors"),
        ({"resolution_prompt": "Choose."}, "scope_profiles.broad.resolution_prompt: asks a model"),
    ],
)
async def test_a_profile_that_cannot_work_is_refused_and_such_an_override_is_told(guide, option, told):
    with pytest.raises(ConfigurationError, match=told):
        indexed(guide, scope_profiles={"broad": option})
    intent = RetrievalIntent(["What about safety?"], raw_data={"topic_index": option})
    with collect_degradations() as degradations:
        assert headings(await indexed(guide).query(intent)) == SAFETY
    assert [(one["part"], next(iter(option)) in one["reason"]) for one in degradations] == [("topic_options", True)]


@pytest.mark.covers("fault 77")
async def test_many_headings_are_gone_through_beside_the_event_loop(monkeypatch):
    from groundgraph.sources.topic_index import heading_tree

    places = [Place(f"p{n}", "d", ("All", f"Part {n}")) for n in range(3)]
    here, seen = threading.get_ident(), []
    offered = heading_tree.offered_headings
    monkeypatch.setattr(
        heading_tree, "offered_headings", lambda *given: seen.append(threading.get_ident()) or offered(*given)
    )

    class Store:
        async def revision(self):
            return 1

        async def outline(self):
            return Outline(1, places)

    async def choose(instruction, question, paths):
        return [0]

    index = heading_tree.HeadingTreeIndex(Store(), "docs", choose)
    options = TopicIndexSettings(type="heading_tree", entry_strategy="heading_match", resolution_prompt="Choose.")
    [topic] = await index.resolve(Asked("part", options, 0.0))
    assert [one.id for one in topic.passages] == ["p0"]
    assert seen
    assert here not in seen


TENANTS = {"a": {"tenant": "a"}, "b": {"tenant": "b"}}
FIELDS = {"tenant": {"type": "string"}}


@pytest.mark.covers("fault 60")
async def test_no_expansion_escapes_a_filter(tmp_path):
    text = "# Book\n\n## Safety\n\nintro\n\n### Fire\n\nsecret of {}\n"
    source = await base(
        tmp_path / "t.sqlite", {n: text.format(n) for n in TENANTS}, metadata=TENANTS, fields=FIELDS, words=["fire"]
    )
    for options in ({}, {"entry_strategy": "vector"}, {"expansion_mode": "children"}, {"expansion_mode": "leaves"}):
        found = await ask(indexed(source, **options), "fire safety", filters={"docs": {"tenant": "a"}})
        assert found
        assert {result.metadata["document"] for result in found} == {"a"}
    assert await ask(indexed(source), "fire safety", filters={"docs": {"tenant": "c"}}) == []


@pytest.mark.covers("fault 60")
async def test_a_model_is_not_shown_the_headings_that_a_filter_keeps_back(tmp_path):
    texts = {"a": "# A\n\n## Mine\n\nx", "b": "# B\n\n## Secret plan\n\nx"}
    source = await base(tmp_path / "t.sqlite", texts, metadata=TENANTS, fields=FIELDS)
    chooser = Chooser(0)
    await ask(choosing(source, chooser), "plan", filters={"docs": {"tenant": "a"}})
    # A document with one heading over others has a title, which is none to choose.
    assert chooser.calls[0][2] == [("A", "Mine")]


@pytest.mark.covers("fault 60")
async def test_the_cap_counts_what_the_filter_keeps(tmp_path):
    pages = "".join(f"### Page {n}\n\ntext\n\n" for n in range(6))
    texts = {"a": f"# A\n\n## Topic\n\n{pages}", "b": f"# B\n\n## Topic\n\n{pages}"}
    source = await base(tmp_path / "t.sqlite", texts, metadata=TENANTS, fields=FIELDS)
    index = indexed(source, entry_strategy="heading_match", max_expanded_results=5)
    assert len(await ask(index, "topic", filters={"docs": {"tenant": "b"}})) == 5


async def test_what_an_ingest_changes_is_found_at_once(tmp_path):
    path = tmp_path / "kb.sqlite"
    source = await base(path, {"d": "# D\n\n## Cats\n\none"})
    index = indexed(source, entry_strategy="heading_match")
    assert await ask(index, "dogs") == []
    await base(path, {"e": "# E\n\n## Dogs\n\ntwo\n\n## More\n\nx"})
    assert headings(await ask(index, "dogs")) == ["Dogs"]


async def test_a_field_of_the_documents_called_topic_stays_theirs(tmp_path):
    source = await base(
        tmp_path / "t.sqlite",
        {"a": "# A\n\n## Safety\n\nx"},
        metadata={"a": {"topic": "fire"}},
        fields={"topic": {"type": "string"}},
    )
    [result] = await ask(indexed(source), "safety", filters={"docs": {"topic": "fire"}})
    assert (result.metadata["topic"], result.metadata["found_under"]) == ("fire", "A > Safety")


@pytest.mark.covers("fault 60")
async def test_a_filter_on_pages_holds_before_the_cap(tmp_path):
    first, second = "# Book\n\n## Safety\n\npage one\n\n", "more on page two\n\n## End\n\nend\n"
    parts = (Part(0, len(first), {"page": 1}), Part(len(first), len(first + second), {"page": 2}))
    assert await fill(tmp_path / "p.sqlite", [Document("d", first + second, MARKDOWN, parts=parts)]) == {}
    source = KnowledgeBaseSource(tmp_path / "p.sqlite", name="docs", fields={"page": {"type": "integer"}})
    index = indexed(source, entry_strategy="heading_match", max_expanded_results=1)
    assert [r.metadata["page"] for r in await ask(index, "safety")] == [1]
    assert [r.metadata["page"] for r in await ask(index, "safety", filters={"docs": {"page": 2}})] == [2]
