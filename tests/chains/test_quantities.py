"""The numbers, dates and codes of a text."""

from __future__ import annotations

import pytest
from growth import cpu_seconds

from groundgraph.text.numbers import only_days_differ
from groundgraph.text.quantities import quantities, with_days_otherwise


def _numbers(text: str) -> list[str]:
    return [number.text for number in quantities(text).numbers]


@pytest.mark.parametrize(
    "text",
    ["1. Open it.", "  - 2) Close it.", "> * # 3: Wait.", "**4.** Go on.", "- Step 5 and no more", "* шаг 6 из всех"],
)
def test_the_numbers_of_items_and_steps_are_no_numbers_of_the_text(text):
    assert _numbers(text) == []


@pytest.mark.parametrize(("text", "day"), [("am 12. Mai 2024", (2024, 5, 12)), ("bis 3. Januar", (None, 1, 3))])
def test_a_day_may_have_a_full_stop_behind_it(text, day):
    [date] = quantities(text).dates
    assert (date.year, date.month, date.day) == day


@pytest.mark.parametrize(
    ("question", "language", "otherwise"),
    [
        ("Who came on July 4, 2012?", "en", ["Who came on 2012-07-04?"]),
        ("Who came on 2012/07/04?", "en", ["Who came on 4 july 2012?"]),
        ("Wer kam am 24.7.2012?", "de", ["Wer kam am 2012-07-24?", "Wer kam am 24 juli 2012?"]),
        ("Кто пришёл 4 июля 2012 года?", "ru", ["Кто пришёл 2012-07-04 года?", "Кто пришёл 4 июль 2012 года?"]),
        # A language without names of months.
        ("Chi era qui il 2012/07/04?", "it", []),
        ("Chi era qui il 24.7.2012?", "it", ["Chi era qui il 2012-07-24?"]),
        # Which of two days, no year, no day, and a log.
        ("Who came on 04/07/2012?", "en", []),
        ("Who came on July 4?", "en", []),
        ("Who came in July 2012?", "en", []),
        ("Is pump 2012 on?", "en", []),
        (" ".join(f"2012-07-{day:02} leak" for day in range(1, 5)), "en", []),
    ],
)
def test_a_day_is_written_otherwise(question, language, otherwise):
    assert with_days_otherwise(question, language) == otherwise


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Who came on July 4, 2012?", "Who came on 2012-07-04?", True),
        ("Wer kam am 4.7.2012?", "Wer kam am 4 juli 2012?", True),
        # Another day, another thing, another question, and the same words.
        ("Who came on July 4, 2012?", "Who came on 2012-07-05?", False),
        ("Is pump 17, pump 99 on?", "Is pump 17 on?", False),
        ("Who came on July 4, 2012?", "Who left on 2012-07-04?", False),
        ("Who came on July 4, 2012?", "Who came on July 4, 2012?", False),
        ("9" * 5000, "0" + "9" * 5000, True),
    ],
)
def test_wordings_that_differ_in_their_days_alone_are_told(one, other, same):
    assert only_days_differ(one, other) is same


def test_a_number_behind_the_marks_of_an_item_is_one():
    assert _numbers("- 90 days\n-- # 5 kg\n----- 7 kg") == ["90 days", "5 kg", "7 kg"]


@pytest.mark.covers("F12", "fault 81")
@pytest.mark.parametrize("mark", ["-", "*", "+", "#", "•", "- ", "-#", "*\t"])
@pytest.mark.parametrize("behind", ["", "x", "1", "\n90 days"])
def test_a_line_of_marks_is_read_at_once(mark, behind):
    assert cpu_seconds(lambda: quantities("Every part:\n" + mark * 24 + behind)) < 0.5


@pytest.mark.covers("F12", "fault 81")
def test_a_rule_a_banner_and_a_table_are_read_at_once_and_keep_their_numbers():
    text = "Service\n" + "-" * 5000 + "\n" + "#" * 5000 + " Pump 17\n+" + "-----+" * 2000 + "\n| 90 days |\n-- \nJo"
    assert [number.text for number in quantities(text).numbers] == ["17", "90 days"]
    assert cpu_seconds(lambda: quantities(text)) < 0.5
