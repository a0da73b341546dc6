"""Labels resolved to passages, and how much of an answer stands in them (S3, V1)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.answers.check_support import lexical_support
from groundgraph.answers.citations import CheckedAnswer, claims_of, labels_in, named_text, reference, resolve_citations
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
    return [(claim.text, claim.labels) for claim in claims_of(text)]


def support(answer: str, evidence: dict[int, SourceResult], question: str = "") -> float:
    return lexical_support(CheckedAnswer(answer, question, evidence))


@pytest.mark.parametrize(
    ("answer", "sentences"),
    [
        ("One here [1]. Two here [2, 3].", [("One here .", (1,)), ("Two here .", (2, 3))]),
        ("One here. [1] Two here. [2]", [("One here.", (1,)), ("Two here.", (2,))]),
        ("One here [1]. [2][3] Two here.", [("One here .", (1, 2, 3)), ("Two here.", ())]),
        ("[1] Opens with it.", [("Opens with it.", (1,))]),
        ("Code `[1]` says. [2]", [("Code `[1]` says.", (2,))]),
        ("He says “One. Two.” [1]. Three.", [("He says “One. Two.”", (1,)), ("Three.", ())]),
        ("He says “One.\n\nTwo [1].", [("He says “One.", ()), ("Two .", (1,))]),
        ("[1]", []),
        ("", []),
    ],
)
def test_labels_behind_a_full_stop_belong_to_the_sentence_before(answer, sentences):
    assert cited(answer) == sentences


@pytest.mark.parametrize(
    ("answer", "sentences"),
    [
        ("[1] One here.\n[2] Two here.", [("One here.", (1,)), ("Two here.", (2,))]),
        ("[1] One here. [2, 3] Two here.", [("One here.", (1,)), ("Two here.", (2, 3))]),
        ("# Both\n\n[1] One here.\n\n[2]: Two here.", [("# Both", ()), ("One here.", (1,)), (": Two here.", (2,))]),
        ("[1] One here. [2]\n\nTwo here.", [("One here.", (1, 2)), ("Two here.", ())]),
        ("One here.\n[1] [2]\n\nTwo here.", [("One here.", (1, 2)), ("Two here.", ())]),
        ("[1] One here.\n\nTwo here. [2] Three here.", [("One here.", (1,)), ("Two here.", (2,)), ("Three here.", ())]),
    ],
)
def test_labels_that_begin_a_line_belong_to_what_stands_behind_them(answer, sentences):
    assert cited(answer) == sentences


@given(TEXTS)
def test_the_sentences_hold_every_label_that_follows_a_word(answer):
    found = {label for sentence in claims_of(answer) for label in sentence.labels}
    assert found <= set(labels_in(answer))
    assert set(labels_in("Word. " + answer)) == {
        label for sentence in claims_of("Word. " + answer) for label in sentence.labels
    }


def test_labels_in_code_or_around_it_are_no_labels():
    assert labels_in("a [2] `[1]` b [1`x`] ```\n[3]\n``` [2][4]") == [2, 4]


@pytest.mark.covers("fault 3")
@given(st.lists(st.sampled_from([*PIECES, RTL, "A rare word: zebra. "]), max_size=9).map("".join), st.integers(0, 99))
def test_offsets_point_at_the_quote_in_the_original(content, offset):
    original = "x" * offset + content + "tail"
    [citation] = resolve_citations([1], "A zebra is rare [1].", {1: result(content, start=offset)}, question="")
    assert original[citation["start"] : citation["end"]] == citation["quote"]
    assert citation["quote"] in content


@pytest.mark.covers("fault 4")
def test_a_citation_in_rtl_text_resolves_to_its_sentence():
    answer = "תוקף האסימון הוא שעה [1]."
    assert cited(answer) == [("תוקף האסימון הוא שעה .", (1,))]
    [citation] = resolve_citations([1], answer, {1: result(RTL, start=10)}, question="")
    assert citation["quote"] == "תוקף האסימון שעה אחת."
    assert RTL[citation["start"] - 10 : citation["end"] - 10] == citation["quote"]
    assert support(answer, {1: result(RTL)}) > 0.5


@pytest.mark.parametrize("metadata", [{}, {"start": None}, {"start": "5"}, {"start": True}, {"start": 1.5}])
def test_without_an_offset_a_citation_has_none(metadata):
    [citation] = resolve_citations([1], "", {1: result(**metadata)}, question="token")
    assert (citation["start"], citation["end"]) == (None, None)
    assert citation["quote"] == "A token expires after one hour."


def test_labels_without_evidence_give_no_citation():
    assert [one["label"] for one in resolve_citations([2, 9, 1], "", {1: result(), 2: result()}, question="")] == [2, 1]


@pytest.mark.covers("S3")
def test_the_quote_is_what_the_citing_sentence_speaks_of_else_what_was_asked():
    evidence = {1: result("Apples are red. Pears are green.")}
    [written] = resolve_citations([1], "Pears have a green skin [1].", evidence, question="apples")
    [asked] = resolve_citations([1], "", evidence, question="What colour are apples?")
    assert (written["quote"], asked["quote"]) == ("Pears are green.", "Apples are red.")


def test_a_citation_carries_where_it_comes_from():
    [citation] = resolve_citations([1], "", {1: result(section="A > B", title="", url="u")}, question="")
    assert citation["source_name"] == "docs"
    assert citation["source_id"] == "id-1"
    assert (citation["section"], citation["title"], citation["url"]) == ("A > B", None, "u")


@pytest.mark.covers("S3")
@pytest.mark.parametrize(
    ("metadata", "section", "source"),
    [
        ({"title": "T", "section": "A > B", "document": "d.md"}, "T > A > B", "d.md"),
        ({"title": "T", "document": "d.md"}, "T", "d.md"),
        ({"section": "Prices > Plans", "title": "Plans"}, "Prices > Plans", "Plans"),
        ({"section": "Prices > Oldplans", "title": "plans"}, "plans > Prices > Oldplans", "plans"),
        ({"section": "Setup > T", "title": "T", "document": "d.md"}, "T > Setup > T", "d.md"),
        ({"title": "Setup — Kestrel", "section": "Setup > Pipes", "url": "u"}, "Setup — Kestrel > Pipes", "u"),
        ({"title": "Setup — Kestrel", "section": "Setup", "url": "u"}, "Setup — Kestrel", "u"),
        ({"title": "Setups", "section": "Setup > Pipes", "url": "u"}, "Setups > Setup > Pipes", "u"),
        ({"url": "https://x"}, "https://x", "https://x"),
        ({"section": "A"}, "A", "id-1"),
        ({}, "id-1", "id-1"),
    ],
)
def test_a_reference_names_the_section_or_the_document(metadata, section, source):
    assert reference(result(**metadata), "section") == section
    assert reference(result(**metadata), "source") == source


@pytest.mark.covers("R6", "S3")
@pytest.mark.parametrize(
    ("metadata", "shown"),
    [
        ({"source": "manuals/a.pdf", "page": 3}, "manuals/a.pdf"),
        ({"source": "https://x/y"}, "https://x/y"),
        ({"source": "a.md", "title": "T"}, "T"),
        ({"source": 7}, "id-1"),
    ],
)
def test_a_document_of_langchain_is_referred_to_by_its_source(metadata, shown):
    found = replace(result(**metadata), source_type="langchain")
    assert reference(found, "section") == shown
    # What a model is shown beside the text is no name that stands nowhere.
    assert ("manuals/a.pdf" in named_text(found)) == ("manuals" in shown)


@pytest.mark.covers("K5")
def test_a_citation_of_what_a_model_wrote_says_so_and_spans_what_it_was_made_from():
    evidence = {1: result("Keep it short. Show one number.", start=488, end=900, derived=True)}
    [citation] = resolve_citations([1], "Show one number [1].", evidence, question="")
    assert citation["quote"] == "Show one number."
    assert (citation["start"], citation["end"], citation["derived"]) == (488, 900, True)
    [plain] = resolve_citations([1], "A token [1].", {1: result(start=488, end=900)}, question="")
    assert plain["start"] == 488
    assert "derived" not in plain


@pytest.mark.covers("A18")
def test_every_quoted_sentence_is_a_citation_in_the_order_of_the_answer():
    evidence = {
        1: SourceResult("One is first. Two is second.", "a", "docs", "memory", 1.0, {"start": 10}),
        2: SourceResult("Three is third.", "b", "docs", "memory"),
        3: SourceResult("Four is not quoted.", "c", "docs", "memory"),
    }
    quotes = [
        {"label": 1, "text": "Two is second.", "start": 24, "end": 38},
        {"label": 2, "text": "Three is third.", "start": 0, "end": 15},
        {"label": 1, "text": "One is first.", "start": 10, "end": 23},
    ]
    found = resolve_citations([1, 2], "", evidence, question="?", quotes=[*quotes, quotes[0]])
    assert [(one["label"], one["quote"], one["start"]) for one in found] == [
        (1, "Two is second.", 24),
        (2, "Three is third.", None),
        (1, "One is first.", 10),
    ]


def test_the_quote_of_a_label_is_what_the_answer_quotes_where_it_quotes():
    content = "Apples are red. Pears are green and sweet."
    quotes = [{"label": 1, "text": "green and sweet", "start": 126, "end": 141}]
    [citation] = resolve_citations([1], "Pears [1].", {1: result(content, start=100)}, question="", quotes=quotes)
    assert (citation["quote"], citation["start"], citation["end"]) == ("green and sweet", 126, 141)


@given(TEXTS, TEXTS, TEXTS)
def test_support_is_a_share(answer, content, question):
    assert 0 <= support(answer, {1: result(content), 2: result()}, question) <= 1 + 1e-9


def test_support_is_whole_for_a_verbatim_sentence_and_falls_with_every_word_that_is_not_there():
    evidence = {1: result(), 2: result("Zebras sleep standing.")}
    assert support("A token expires after one hour [1].", evidence) == pytest.approx(1)
    assert support("Zebras sleep standing [1].", evidence) == 0
    assert support("Zebras sleep standing [1][2].", evidence) == pytest.approx(1)
    assert support("A token expires after two weeks [1].", evidence) == pytest.approx(0.5)
    assert support("A token expires after two weeks [1].", evidence, "Is it weeks?") == pytest.approx(0.75)
    assert support("A token expires after one hour [1].", {}) == 0


def test_a_sentence_that_cites_nothing_is_measured_against_all_of_the_evidence():
    evidence = {1: result(), 2: result("Zebras sleep standing.")}
    assert support("Zebras sleep standing.", evidence) == pytest.approx(1)


def test_support_counts_words_that_stand_together_higher_than_scattered_ones():
    together = "Tokens expire hourly. " + "Nothing to see. " * 5
    scattered = "Tokens are nice. Nothing. Nothing. Nothing. They expire. Nothing. Nothing. Nothing. It is hourly."
    answer = "Tokens expire hourly [1]."
    assert support(answer, {1: result(scattered)}) < support(answer, {1: result(together)})


@pytest.mark.parametrize(
    "blind", ["The client sends a token to the server [1].", "The server sends no token to the client [1]."]
)
def test_support_is_lexical_it_sees_neither_swapped_roles_nor_negation(blind):
    assert support(blind, {1: result("The server sends a token to the client.")}) == pytest.approx(1)


@pytest.mark.covers("V1")
def test_the_quote_of_a_label_is_the_sentence_that_the_shared_score_finds():
    content = (
        "The server keeps the long list of every token, client, scope, grant and limit that an operator may ever need. "
        "A client refreshes its token."
    )
    evidence = {1: SourceResult(content, "1", "docs", "memory")}
    [citation] = resolve_citations([1], "A token is refreshed by its client [1].", evidence, question="?")
    assert citation["quote"] == "A client refreshes its token."


@pytest.mark.covers("V1")
def test_the_quote_of_a_label_before_its_sentence_is_what_that_sentence_speaks_of():
    content = "A pump is checked every 90 days. A service of one costs 120 euros."
    evidence = {label: SourceResult(content, str(label), "docs", "memory") for label in (1, 2)}
    for written in ("[1] Every 90 days.\n[2] It costs 120 euros.", "1. [1] Every 90 days.\n2. [2] It costs 120 euros."):
        one, two = resolve_citations([1, 2], written, evidence, question="What does a service cost?")
        assert one["quote"] == "A pump is checked every 90 days."
        assert two["quote"] == "A service of one costs 120 euros."


@pytest.mark.covers("fault 2")
def test_an_answer_that_cites_one_label_ten_thousand_times_is_resolved():
    evidence = {1: SourceResult("Access tokens live one hour. " * 50, "1", "docs", "memory")}
    written = " ".join(f"Tokens number {number} live [1]." for number in range(10_000))
    [citation] = resolve_citations([1], written, evidence, question="?")
    assert citation["quote"] == "Access tokens live one hour."


@pytest.mark.covers("A17")
@pytest.mark.parametrize(
    ("quote", "url", "led"),
    [
        (
            "Pump 17 is serviced every 90 days, by the whole crew.",
            "",
            "#:~:text=Pump%2017%20is%20serviced%20every%2090%20days%2C%20by",
        ),
        ("Set `x` first: it is a well-known name.", "", "#:~:text=first%3A%20it%20is%20a%20well%2Dknown%20name."),
        ("# Head\n\n- one two well-known words", "", "#:~:text=one%20two%20well%2Dknown%20words"),
        ("One two three.", "#part", "#part:~:text=One%20two%20three."),
        ("| a | b |", "", ""),
        # A page may have "m" with a raised 2, or the sign.
        ("5 m² of the hall are free, 2^n halls.", "", "#:~:text=of%20the%20hall%20are%20free%2C"),
    ],
)
def test_a_web_page_is_cited_with_the_words_that_the_browser_scrolls_to(quote, url, led):
    page = f"https://example.org/a{url}"
    result = SourceResult(quote, "id", "docs", "knowledge_base", metadata={"url": page, "document": page})
    [citation] = placed(quote, result)
    assert (citation["url"], citation["location"]["shown"]) == (page, page)
    assert citation["location"]["url"] == page.removesuffix(url) + led


@pytest.mark.covers("A17")
@pytest.mark.parametrize(("part", "led"), [("", "#page=5"), ("#part", "")])
def test_a_pdf_of_the_web_is_cited_with_its_page(part, led):
    metadata = {"url": f"https://example.org/b.pdf{part}", "document": "https://example.org/a.pdf", "page": 5}
    [citation] = placed(
        "One two three.", SourceResult("One two three.", "id", "b", "knowledge_base", metadata=metadata)
    )
    page = f"https://example.org/b.pdf{part}"
    assert citation["location"] == {"page": 5, "shown": f"{page}, page 5", "url": page + led}
    assert (citation["start"], citation["encoding"]) == (None, None)
    # No other text that somebody gave an address has pages.
    [other] = placed("One.", SourceResult("One.", "id", "b", "knowledge_base", metadata={**metadata, "document": "b"}))
    assert "page" not in other["location"]


@pytest.mark.covers("A20")
@pytest.mark.parametrize(
    ("metadata", "shown"),
    [
        ({"source": "docs/report.pdf", "page": 4, "total_pages": 9}, "docs/report.pdf, page 5"),
        ({"source": "docs/report.pdf", "page": 4, "page_label": "7"}, "docs/report.pdf, page 7"),
        ({"source": "docs/report.pdf", "page": 4, "page_label": "iv", "total_pages": 9}, "docs/report.pdf, page 5"),
        ({"source": "docs/report.pdf", "page": 4}, "docs/report.pdf, page 4"),
        ({"source": "https://example.org/a"}, "https://example.org/a"),
        ({"source": "other.md", "document": "docs/pumps.md"}, "docs/pumps.md"),
    ],
)
def test_what_langchain_calls_the_source_and_the_page_is_cited(metadata, shown):
    result = SourceResult("Pump 17 is serviced.", "0b9f", "docs", "langchain", metadata=metadata)
    assert placed("Pump 17 is serviced.", result)[0]["location"]["shown"] == shown


def placed(quote: str, result: SourceResult):
    quotes = [{"label": 1, "text": quote, "start": 0, "end": len(quote)}]
    return resolve_citations([1], "", {1: result}, question="", quotes=quotes)
