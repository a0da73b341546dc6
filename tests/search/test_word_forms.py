"""Forms of words that stand nowhere: what is one, what is searched for in place of the word, what a filter hides."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from groundgraph import KnowledgeBase, load_settings, turn_graph
from groundgraph.core.document import Document
from groundgraph.search.rank import MOST_FORMS, Question, Scorer, near_terms
from groundgraph.sources.knowledge_base.source import KnowledgeBaseSource
from groundgraph.text.words import has_forms, nearest_forms

LETTERS = st.sampled_from("abcdeghikln")
LONG = st.text(LETTERS, min_size=5, max_size=14)
# Of a small alphabet, so that many are forms of each other.
WORDS = st.lists(st.text(st.sampled_from("ab1"), min_size=1, max_size=10), max_size=30)


@pytest.mark.parametrize(
    ("stem", "word"),
    [
        ("samelplatz", "sammelplatz"),
        ("defualt", "default"),
        ("loker", "locker"),
        ("urlaubstag", "urlaub"),
        ("kundig", "kundigung"),
        ("jahresurlaub", "urlaub"),
    ],
)
def test_slips_inflections_and_the_last_part_of_a_compound_are_forms(stem: str, word: str) -> None:
    assert nearest_forms(stem, ["something", word]) == [word]


@pytest.mark.parametrize(
    ("stem", "word"),
    [
        ("betriebsarzt", "betriebsordnung"),  # begins alike, and goes on for longer
        ("fund", "found"),  # too short to be told
        ("luther", "mather"),  # another first letter
        ("pump17", "pump71"),  # a code
        ("workshop", "shop"),  # four letters
    ],
)
def test_what_only_looks_alike_is_no_form(stem: str, word: str) -> None:
    assert nearest_forms(stem, [word]) == []


@pytest.mark.guard
@given(LONG, st.integers(2, 13), LETTERS)
def test_a_word_with_one_slip_behind_its_first_letters_is_a_form(word: str, place: int, letter: str) -> None:
    assume(place < len(word))
    slips = [
        word[:place] + letter + word[place:],
        word[:place] + letter + word[place + 1 :],
        word[:place] + word[place + 1 :],
        word[:place] + word[place : place + 2][::-1] + word[place + 2 :],
    ]
    for slip in filter(has_forms, slips):
        assert nearest_forms(slip, [word, "unrelated"]) == [word]


@pytest.mark.guard
@given(st.text(st.sampled_from("ab1"), min_size=1, max_size=10), WORDS)
def test_a_table_of_terms_gives_the_forms_that_all_its_words_would(stem: str, words: list[str]) -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE terms (term TEXT PRIMARY KEY, df INTEGER NOT NULL)")
        connection.executemany("INSERT OR IGNORE INTO terms VALUES (?, 3)", [(word,) for word in words])
        near = near_terms(connection, stem)
    assert nearest_forms(stem, near) == nearest_forms(stem, frozenset(words))
    assert set(near.values()) <= {3}


def test_a_known_word_is_searched_as_it_is_and_an_unknown_one_by_its_nearest_forms() -> None:
    known = {"lockers": 1, "locket": 2, "lockerr": 3, "lockera": 4, "lockerb": 5}
    asked = Question(["locker", "room"], {"locker": 2, "room": 4}, 10, 5.0).with_forms(lambda stem: known)
    assert asked.forms == {}
    asked = Question(["locker", "room"], {"room": 4}, 10, 5.0).with_forms(lambda stem: known)
    assert len(asked.forms) == MOST_FORMS
    assert set(asked.forms.values()) == {"locker"}
    assert sorted(asked.held) == sorted(["room", *asked.forms])
    assert asked.df["locker"] == sum(known[form] for form in asked.forms)


def test_a_form_orders_and_is_told_as_if_it_were_not_held() -> None:
    asked = Question(["loker", "cost"], {"cost": 3}, 10, 5.0).with_forms(lambda stem: {"locker": 2})
    plain, formed = (Scorer(asked).passage(1, body, []) for body in (["cost", "boat"], ["cost", "locker"]))
    assert formed.lexical > plain.lexical
    assert formed.share > plain.share
    assert formed.told == plain.told > 0


TEXTS = {
    "sammelplatz.md": "# Feuer\n\nDer Sammelplatz bei Feueralarm liegt vor Tor 2 neben der Pforte.",
    "urlaub.md": "# Urlaub\n\nDer Jahresurlaub beträgt 30 Tage und wird bei der Leitung beantragt.",
    "kantine.md": "# Kantine\n\nDie Kantine hat montags bis freitags von 11 bis 14 Uhr geöffnet.",
}


def base_of(path: Path, documents: list[Document]) -> KnowledgeBaseSource:
    with KnowledgeBase.open(load_settings({"knowledge_base": {"file": str(path)}})) as base:
        base.add_documents(documents)
    return KnowledgeBaseSource(path)


@pytest.mark.covers("A2")
async def test_a_slip_is_answered_from_the_text_that_has_the_word(tmp_path: Path) -> None:
    documents = [Document(name, text, "text/markdown") for name, text in TEXTS.items()]
    graph = turn_graph(load_settings({}), sources=[base_of(tmp_path / "kb.sqlite", documents)])
    slip = await graph.ainvoke({"messages": "Wo ist der Samelplatz bei Feueralam?"})
    assert (slip["outcome"], slip["citations"][0]["source_id"].partition("#")[0]) == ("answered", "sammelplatz.md")
    days = await graph.ainvoke({"messages": "Wie viele Urlaubstage gibt es?"})
    assert days["citations"][0]["source_id"].startswith("urlaub.md")
    assert "30 Tage" in days["answer"]
    absent = await graph.ainvoke({"messages": "Wer ist der Kantinenwirt?"})
    assert absent["outcome"] == "insufficient" or any("vielleicht nicht" in note for note in absent["notes"])


@pytest.mark.covers("R13")
@pytest.mark.parametrize("hidden", ["Sammelplatzz samelplatz", "Samelplat Samelplatk Samelplatm Samelplatq"])
async def test_what_stands_behind_a_filter_chooses_no_form(tmp_path: Path, hidden: str) -> None:
    """The words of a text that the filter leaves out, the word itself among them, change nothing that is found."""

    async def found(name: str, *more: Document) -> list[str]:
        documents = [Document(key, text, "text/markdown", {"tenant": "a"}) for key, text in TEXTS.items()]
        settings = {"file": str(tmp_path / name), "fields": {"tenant": {"type": "string"}}}
        with KnowledgeBase.open(load_settings({"knowledge_base": settings})) as base:
            base.add_documents([*documents, *more])
            results = await base.asearch("Wo ist der Samelplatz?", filters={"tenant": "a"})
        return [one.content for one in results]

    alone = await found("alone.sqlite")
    assert [one for one in alone if "vor Tor 2" in one] == alone[:1]
    assert await found("beside.sqlite", Document("z.md", f"# Z\n\n{hidden}", "text/markdown", {"tenant": "b"})) == alone
