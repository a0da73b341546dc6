"""What the page is to do, and the test that shows it; on a LangGraph Server most of them run as well (`tests/live`)."""

from __future__ import annotations

from pathlib import Path

import pytest

LISTED = "test_conversations_are_listed_searched_and_forgotten"
WATCHED = "test_it_is_told_which_source_is_late_or_down_and_what_was_left_out"
STOPPED = "test_stages_and_the_answer_are_seen_as_they_happen_and_an_answer_can_be_stopped"
CITED = "test_a_citation_shows_its_quote_and_opens_the_document_at_the_passage"
OPENED = "test_tables_texts_web_pages_and_pages_of_a_pdf_open_at_the_passage"
BRANCHES = "test_a_question_that_is_changed_begins_a_branch_and_branches_are_walked"
NARROW = "test_it_is_read_at_400_pixels_and_in_russian"
LANGUAGE = "test_another_language_is_one_more_file"
ALONG = "test_a_turn_is_copied_and_a_conversation_taken_along"
INERT = "test_what_is_found_in_hostile_titles_answers_and_names_is_inert"
PROMISES = {
    "threads with titles and search": LISTED,
    "streaming": WATCHED,
    "stages as they happen, which source is late or down, what was left out": WATCHED,
    "an answer is stopped and asked again": STOPPED,
    "citation chips: hover shows the quote, click opens the document beside the answer": CITED,
    "the passage highlighted in Markdown, HTML made inert, tables, text, and on the picture of a PDF's page": OPENED,
    "support marks, notes": STOPPED,
    "outcome in plain sight; another one looks different": "test_another_outcome_looks_different",
    "asking back as buttons": "test_what_a_turn_asks_back_is_answered_by_a_button",
    "editing a question forks, branches can be walked": BRANCHES,
    "review by a person": "test_an_answer_that_waits_is_decided_on_the_page",
    "upload by drop, progress, reasons": "test_documents_that_are_dropped_are_taken_in_or_refused_with_a_reason",
    "marks with a comment": "test_a_mark_with_a_comment_stays_with_the_turn",
    "copy as Markdown with footnotes; export of a thread": ALONG,
    "keyboard throughout": "test_everything_is_reached_by_the_keyboard",
    "screen readers": "test_a_screen_reader_is_told_what_happens",
    "nothing bars anybody, in every state": "test_nothing_bars_anybody_and_nothing_overflows",
    "400 pixels, dark and light, Russian": NARROW,
    "any language file": LANGUAGE,
    "no outside reference, a strict policy": "test_the_policy_lets_nothing_in_from_elsewhere",
    "hostile documents, titles, answers and names are inert": INERT,
    "types in comments, checked": "test_the_types_of_the_page_are_right",
}


@pytest.mark.covers("U8")
def test_each_promise_of_the_page_has_its_test():
    text = "".join(file.read_text("utf-8") for file in Path(__file__).parent.glob("test_*.py"))
    assert [name for name in PROMISES.values() if f"def {name}(" not in text] == []
