"""A turn as text (V3)."""

from __future__ import annotations

import pytest
from report_turns import QUESTION, QUOTE, english_turn, russian_turn

from groundgraph import turn_text

pytestmark = pytest.mark.covers("V3")


async def test_the_text_holds_what_the_page_shows():
    record = await english_turn()
    text = turn_text(record)
    for expected in (
        QUESTION, record["answer"].strip(),
        '! The source "tickets" could not be searched: ConnectionError: it cannot be reached',
        "1. Number not supported: 12 years does not stand in the evidence",
        "[1] policies: Anti-money-laundering manual > 4 Record keeping (Relevance 0.89", QUOTE,
        "characters 18394–18495 of page 31", "retrieve_source tickets (failed)", "- tickets: failed;",
        'Filters: policies {"language": "en"}', "too far behind the best result", "- answer: scripted, Tokens in",
    ):  # fmt: skip
        assert expected in text, expected
    assert "\n\n\n" not in text
    assert text.endswith("\n")


async def test_the_text_speaks_the_language_of_the_turn():
    text = turn_text(await russian_turn())
    assert "## Что искали" in text
    assert "переписка: не успел" in text


async def test_an_answer_with_findings_is_not_said_to_rest_on_the_evidence():
    record = await english_turn()
    plain = {**record, "citation_check": {**record["citation_check"], "flags": []}}
    for language, rests in (("en", "The answer rests on evidence"), ("ru", "Ответ опирается на")):
        assert rests not in turn_text(record, language=language)
        assert rests in turn_text(plain, language=language)
