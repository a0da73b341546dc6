"""Labels resolved to passages, and how much of an answer stands in them (S3, V1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.chains.citations import (
    answerable,
    cited_sentences,
    has_claims,
    label_flags,
    labels_in,
    lexical_support,
    reference,
    resolve_citations,
)
from groundgraph.core.evidence import SourceResult

PIECES = [
    "Tokens expire. ",
    "They live an hour [1]. ",
    "[2] ",
    "שלום עולם. ",
    "👩\u200d💻 codes é. ",
    "\n\n",
    "- item ",
    "`[3]` ",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
RTL = "اللغة العربية جميلة. תוקף האסימון שעה אחת. The end is here."


def result(content: str = "A token expires after one hour.", **metadata) -> SourceResult:
    return SourceResult(content, "id-1", "docs", "memory", 0.5, metadata)


def cited(text: str) -> list[tuple[str, tuple[int, ...]]]:
    return [(sentence.text, sentence.labels) for sentence in cited_sentences(text)]


@pytest.mark.parametrize(
    ("answer", "sentences"),
    [
        ("One here [1]. Two here [2, 3].", [("One here .", (1,)), ("Two here .", (2, 3))]),
        ("One here. [1] Two here. [2]", [("One here.", (1,)), ("Two here.", (2,))]),
        ("One here [1]. [2][3] Two here.", [("One here .", (1, 2, 3)), ("Two here.", ())]),
        ("One here.\n\n[1-3]", [("One here.", (1, 2, 3))]),
        ("[1] Opens with it.", [("Opens with it.", (1,))]),
        ("Code `[1]` says. [2]", [("Code ` says.", (2,))]),
        ("[1]", []),
        ("", []),
    ],
)
def test_labels_behind_a_full_stop_belong_to_the_sentence_before(answer, sentences):
    assert cited(answer) == sentences


@given(TEXTS)
def test_the_sentences_hold_every_label_that_follows_a_word(answer):
    found = {label for sentence in cited_sentences(answer) for label in sentence.labels}
    assert found <= set(labels_in(answer))
    assert set(labels_in("Word. " + answer)) == {
        label for sentence in cited_sentences("Word. " + answer) for label in sentence.labels
    }


def test_labels_in_code_or_around_it_are_no_labels():
    assert labels_in("a [2] `[1]` b [1`x`] ```\n[3]\n``` [2][4]") == [2, 4]


@given(st.lists(st.sampled_from([*PIECES, RTL, "A rare word: zebra. "]), max_size=9).map("".join), st.integers(0, 99))
def test_fault_03_offsets_point_at_the_quote_in_the_original(content, offset):
    original = "x" * offset + content + "tail"
    [citation] = resolve_citations([1], "A zebra is rare [1].", {1: result(content, start=offset)}, question="")
    assert original[citation["start"] : citation["end"]] == citation["quote"]
    assert citation["quote"] in content


def test_fault_03_the_quote_of_emoji_text_is_verbatim():
    content = "Früher. 👩\u200d💻 ship cafe\u0301 code 🇫🇷 daily. Später."
    [citation] = resolve_citations([1], "They ship code [1].", {1: result(content, start=0)}, question="")
    assert citation["quote"] == "👩\u200d💻 ship cafe\u0301 code 🇫🇷 daily."
    assert content[citation["start"] : citation["end"]] == citation["quote"]


def test_fault_04_a_citation_in_rtl_text_resolves_to_its_sentence():
    answer = "תוקף האסימון הוא שעה [1]."
    assert cited(answer) == [("תוקף האסימון הוא שעה .", (1,))]
    [citation] = resolve_citations([1], answer, {1: result(RTL, start=10)}, question="")
    assert citation["quote"] == "תוקף האסימון שעה אחת."
    assert RTL[citation["start"] - 10 : citation["end"] - 10] == citation["quote"]
    assert lexical_support(answer, {1: result(RTL)}) > 0.5


@pytest.mark.parametrize("metadata", [{}, {"start": None}, {"start": "5"}, {"start": True}, {"start": 1.5}])
def test_without_an_offset_a_citation_has_none(metadata):
    [citation] = resolve_citations([1], "", {1: result(**metadata)}, question="token")
    assert (citation["start"], citation["end"]) == (None, None)
    assert citation["quote"] == "A token expires after one hour."


def test_labels_without_evidence_give_no_citation():
    assert [one["label"] for one in resolve_citations([2, 9, 1], "", {1: result(), 2: result()}, question="")] == [2, 1]


def test_s3_the_quote_is_what_the_citing_sentence_speaks_of_else_what_was_asked():
    evidence = {1: result("Apples are red. Pears are green.")}
    [written] = resolve_citations([1], "Pears have a green skin [1].", evidence, question="apples")
    [asked] = resolve_citations([1], "", evidence, question="What colour are apples?")
    assert (written["quote"], asked["quote"]) == ("Pears are green.", "Apples are red.")


def test_a_citation_carries_where_it_comes_from():
    [citation] = resolve_citations([1], "", {1: result(section="A > B", title="", url="u")}, question="")
    assert citation["source_name"] == "docs"
    assert citation["source_id"] == "id-1"
    assert (citation["section"], citation["title"], citation["url"]) == ("A > B", None, "u")


@pytest.mark.parametrize(
    ("metadata", "section", "source"),
    [
        ({"title": "T", "section": "A > B", "document": "d.md"}, "T > A > B", "d.md"),
        ({"title": "T", "document": "d.md"}, "T", "d.md"),
        ({"section": "T", "title": "T"}, "T", "T"),
        ({"url": "https://x"}, "https://x", "https://x"),
        ({"section": "A"}, "A", "id-1"),
        ({}, "id-1", "id-1"),
    ],
)
def test_s3_a_reference_names_the_section_or_the_document(metadata, section, source):
    assert reference(result(**metadata), "section") == section
    assert reference(result(**metadata), "source") == source


@given(TEXTS, TEXTS)
def test_support_and_answerability_are_shares(answer, content):
    assert 0 <= lexical_support(answer, {1: result(content), 2: result()}) <= 1 + 1e-9
    assert 0 <= answerable(answer, [result(content)]) <= 1 + 1e-9


def test_support_is_whole_for_a_verbatim_sentence_and_none_without_citations():
    evidence = {1: result()}
    assert lexical_support("A token expires after one hour [1].", evidence) == pytest.approx(1)
    assert lexical_support("A token expires after one hour.", evidence) == 0
    assert lexical_support("Zebras sleep standing [1].", evidence) == 0
    assert lexical_support("A token expires after two weeks [1].", evidence) == pytest.approx(0.5)


def test_answerability_counts_title_and_section():
    found = answerable("expiry of the widget", [result("Nothing.", title="Widget", section="Expiry")])
    assert found == pytest.approx(1)
    assert answerable("anything", []) == 0


def test_fault_26_a_label_without_evidence_is_flagged_once():
    flags = label_flags([9, 9, 7])
    assert [flag["kind"] for flag in flags] == ["unresolved_label"] * 2
    assert "[9]" in flags[0]["detail"]


@pytest.mark.parametrize(
    ("answer", "says"), [("Yes, tokens [1].", True), ("[1]", False), ("`code`", False), ("", False)]
)
def test_an_answer_of_labels_alone_claims_nothing(answer, says):
    assert has_claims(answer) is says
