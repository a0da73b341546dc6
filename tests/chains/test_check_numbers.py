"""Numbers against the evidence: sign, share, marks between digits, and the many ways to write one value."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from groundgraph.answers.check_numbers import check_numbers
from groundgraph.answers.citations import CheckedAnswer
from groundgraph.core.evidence import SourceResult
from groundgraph.text.numbers import decimal_mark, holds_number

pytestmark = pytest.mark.covers("fault 103", "F6")

ENGLISH = "The value of the pump is {} now"
RUSSIAN = "Показание насоса составляет {} сейчас"


def missing(said: str, held: str, shape: str = ENGLISH) -> list[str]:
    evidence = SourceResult(shape.format(held) + ".", "1", "docs", "memory")
    flags = check_numbers(CheckedAnswer(shape.format(said) + " [1].", "What is it?", {1: evidence}))
    assert {flag["kind"] for flag in flags} <= {"number_unsupported"}
    return [flag["detail"] for flag in flags]


@pytest.mark.covers("fault 28")
@pytest.mark.parametrize(
    ("said", "held"),
    [
        *(("-5 °C", "5 °C"), ("5 bar", "-5 bar"), ("+5", "-5"), ("−5 bar", "5 bar"), ("–5 °C", "5 °C"), ("-$5", "$5")),
        *(("minus 5", "5"), ("5", "minus 5"), ("minus five", "five"), ("±5", "5"), ("-1.5M", "1.5M"), ("-5", "5-5")),
        *(("no drop below -5", "no drop below 5"), ("-5", "5 bar or less"), ("-5 %", "5 %"), ("- 5, -7", "5, 7")),
        *(("5", "5%"), ("5%", "5"), ("10 %", "10"), ("five percent", "5"), ("five", "5 per cent"), ("5 bar", "5%")),
        *(("5 to 10", "5% to 10%"), ("2-3 %", "2-4 %"), ("2-3", "2-3 %")),
        *(("1.234", "1234"), ("1234", "1.234"), ("1,500", "1.5"), ("1.5", "1,500"), ("1.000", "1"), ("1", "1.000")),
        *(("1.500", "1.5"), ("1.234 and 2.5", "1234"), ("1,234", "1.234 of 2.5"), ("1.234.567", "1,234,568")),
        *(("1.5M", "1.6M"), ("$1.5m", "$1.6m"), ("1e3", "1e4"), ("2×10^6", "2×10^5"), (".5", "5"), ("1.5", "15")),
        *(("10–16 Uhr", "10:00 bis 15:00 Uhr"), ("16:00 Uhr", "15 Uhr")),
        *(("16:00", "15:00"), ("4 pm", "4 am"), ("16:30", "16:00"), ("16:00", "04:00"), ("16:00", "4:00 am")),
        *(("03/01/2024", "5 March 2024"), ("03/01/2024", "01/03/2024"), ("13/01/2024", "1 March 2024")),
        *(("8 psi", "8 bar"), ("8 mbar", "8 bar"), ("200 °F", "200 °C"), ("5 µg", "5 mg"), ("500 l", "500 ml")),
        *(("230 kV", "230 V"), ("50 V at 230 Hz", "230 V at 50 Hz"), ("40 m", "40 m²"), ("40 ft²", "40 m²")),
        *(("5 mg per hour", "5 mg per day"), ("5 mg per kg", "5 mg a day"), ("120 mph", "120 km/h")),
        *(("100 MB/s", "100 Mbit/s"), ("10-15 l/h", "10-15 l/min"), ("5 mW", "5 MW"), ("12 CHF", "12 EUR")),
        *(("21 million euro", "millions, up 21 percent"), ("21 million euro", "millions in 21 days")),
        *(
            ("USD 12,500", "EUR 12,500"),
            ("$500", "EUR 500"),
            ("CHF 1.5m", "CHF 1.5"),
            ("EUR 5 to EUR 10", "EUR 5 to 9"),
        ),
        *(("31.03.", "30. März"), ("31.03 kg", "31. März"), ("5.03.", "March 2019")),
        *(("31/03", "30 March"), ("5 to 10 bar", "5 bar, not 10 kg")),
        *(("+43 732 123465", "+43 732 123456"), ("+43732123465", "+43 732 123456")),
        *(("version 2.1", "version 2.10"), ("section 4.2", "section 4.20")),
        *(("340123450000000018", "340123450000000017"), ("90071992547409.94 EUR", "90071992547409.93 EUR")),
        *(("12,345,678,902.55 euros", "12,345,678,901.55 euros"), ("0.12345678901234568", "0.12345678901234567")),
        *(("12345678901234567", "1234567890123456"), ("1234567890124 bytes", "1234567890123 bytes")),
    ],
)
def test_another_value_is_flagged(said, held):
    assert missing(said, held)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("1.5M", "1,500,000"), ("1.5M", "1.5 million"), ("$1.5m", "$1,500,000"), ("€1.5M", "1.5 million euros")),
        *(("12,345,678,901,234,567.89", "12345678901234567.89"), ("340 123 450 000 000 017", "340123450000000017")),
        *(("2k", "2000"), ("1.234.567", "1,234,567"), ("1'234'567", "1 234 567"), ("1.234,56", "1,234.56")),
        *(("٫5", "0.5"), (".5", "0.5"), ("٣", "3"), ("１２", "12"), ("½", "0.5"), ("twelve", "12")),
        *(("1e3", "1000"), ("1.5e6", "1.5 million"), ("2×10^6", "2,000,000"), ("2·10⁶", "2 million")),
        *(("16:00", "4 pm"), ("16:00", "4:00 p.m."), ("16.30", "16:30"), ("4 to 6 pm", "16:00 to 18:00")),
        *(("10–15 Uhr", "10:00 bis 15:00 Uhr"), ("16:00 Uhr", "16 Uhr")),
        *(("4 o'clock", "16:00"), ("12:00", "12 noon"), ("03/01/2024", "1 March 2024"), ("03/01/24", "3 January 2024")),
        *(("25/12/2023", "December 25, 2023"), ("2024-03-01T16:00", "1 March 2024 at 4 pm")),
        *(("+5", "5"), ("-5", "−5"), ("minus 5", "-5"), ("−5 bar", "minus five bar"), ("±5", "+/-5"), ("$-5", "-$5")),
        *(("-5%", "a fall of 5%"), ("-5 °C", "5 °C below zero"), ("(5)", "-5")),
        *(("2-3 %", "2% to 3%"), ("5, 7 and 9 %", "5%, 7% and 9%"), ("5 per cent", "5%"), ("five per cent", "5%")),
        *(("3.600", "3,600"), ("1,500", "1500"), ("1.234", "1.234"), ("1.50", "1.5")),
        *(("1.25 of 12.5", "1.250 of 12.5"),),
        *(("E-1042", "E−1042"), ("9–17", "9 to 17"), ("5 M", "5 metres"), ("60 minutes", "an hour")),
        *(("1.5 kW", "1500 W"), ("1500 watts", "1.5 kilowatts"), ("1.25 t", "1,250 kg"), ("0.5 litres", "500 ml")),
        *(("40 m²", "40 square metres"), ("120 km/h", "120 kilometres per hour"), ("60 km/h", "1 km per minute")),
        *(("5 mg per day", "5 mg"), ("5 mg/day", "5 mg a day"), ("1 kWh", "3.6 MJ"), ("1 GB/s", "8 Gbit/s")),
        *(("5.1m", "5.1 million"), ("30 mph", "30 miles per hour"), ("200 °C", "200 degrees Celsius")),
        *(
            ("5 frobs", "5 mg"),
            ("5 mg", "5"),
            ("12 EUR a month", "144 EUR per year"),
            ("+43 732 123456", "+43732123456"),
            ("31/03", "31 March"),
            ("31.03.", "31. März"),
            ("5.03", "5 March"),
            ("7 per cent", "7 %"),
            ("v4.2.0", "4.2.0"),
            ("EUR 12,500", "€12,500"),
            ("from EUR 5 to EUR 10", "5 euros, then 10"),
            ("EUR 2m", "2 million euros"),
        ),
        *(
            ("version 2.10", "release 2.10"),
            ("version 2.10", "2.10"),
            ("2.10 m", "2.1 m"),
            ("5 million", "5, in millions"),
        ),
    ],
)
def test_one_value_in_two_forms_is_not_flagged(one, other):
    assert missing(one, other) == []
    # What a word alone says, as "noon" does, an answer may say without being asked for a number.
    assert missing(other, one) == [] or other in ("an hour", "12 noon", "0.5")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        *(("в 16:00", "в 4 часа дня", True), ("в 8 вечера", "в 20:00", True), ("в 16:00", "в 4 часа утра", False)),
        *(("-5", "минус 5", True), ("-5 %", "снижение на 5 %", True), ("5", "-5", False), ("5 %", "5", False)),
        *(("1,5 кВт", "1500 Вт", True), ("120 км/ч", "120 километров в час", True), ("8 бар", "8 мбар", False)),
        *(("5 мг в сутки", "5 мг в час", False), ("40 м²", "40 м", False), ("40 м²", "40 кв. м", True)),
        *(("1,5 тыс.", "1500", True), ("1 500", "1500", True), ("1,500", "1500", False), ("1,500", "1,5", False)),
    ],
)
def test_russian_forms(one, other, same):
    assert (missing(one, other, RUSSIAN) == []) is same


@pytest.mark.parametrize(
    ("said", "held", "flagged"),
    [
        ("La garantie de la pompe est de 24 mois [1].", "La pompe a une garantie de deux ans.", []),
        ("La garantie de la pompe est de 36 mois [1].", "La pompe a une garantie de deux ans.", ["36 mois"]),
        ("Le contrat date du 2023-02-14 [1].", "Le contrat a été signé le 14 février 2023.", []),
        ("La garantía de la bomba es de 36 meses [1].", "La bomba tiene una garantía de tres años.", []),
        ("La garantía de la bomba es de 24 meses [1].", "La bomba tiene una garantía de tres años.", ["24 meses"]),
    ],
)
def test_french_and_spanish_numbers_and_units_are_read(said, held, flagged):
    flags = check_numbers(CheckedAnswer(said, "?", {1: SourceResult(held, "1", "docs", "memory")}))
    assert [flag["detail"].partition(" does")[0] for flag in flags] == flagged


@pytest.mark.parametrize(
    ("said", "held", "flagged"),
    [
        ("Насос 17 обслуживают каждые 90 дней [1].", "Pump 17 is serviced every 90 days.", []),
        ("Насос 17 обслуживают каждые 60 дней [1].", "Pump 17 is serviced every 90 days.", ["60 дней"]),
        ("Die Besprechung im Werk beginnt um 14:30 Uhr [1].", "The meeting starts at 14:30.", []),
        ("Die Besprechung im Werk beginnt um 15:30 Uhr [1].", "The meeting starts at 14:30.", ["15:30 Uhr"]),
        ("Anna Berg gründete die Firma Nordwerk am 3. März 2019 [1].", "She founded it on 3 March 2019.", []),
        ("Every pump of the factory weighs 5 tons [1].", "The meeting is in hall 5.", ["5"]),
        ("水泵 每 90 天 保养 一次 [1]。", "The pump is serviced every 90 days.", []),
    ],
)
def test_between_two_languages_a_number_only_has_to_stand_in_the_evidence(said, held, flagged):
    evidence = SourceResult(held, "1", "docs", "memory")
    flags = check_numbers(CheckedAnswer(said, "What is it?", {1: evidence}))
    assert [flag["detail"].partition(" does")[0] for flag in flags] == flagged


def test_a_code_ends_before_the_number_behind_it():
    assert missing("Q1", "Q1 2024") == missing("4.1.2", "8 4.1.2 3") == []
    assert missing("Q1", "Q12 024") == ["Q1 does not stand in the evidence"]


def test_the_ends_of_a_range_may_be_hours():
    assert missing("9 am to 5 pm", "9-17") == []
    assert missing("8 am to 5 pm", "9-17") == ["8 am does not stand in the evidence"]
    assert missing("9 am to 5 pm", "9-17 kg") == [f"{hour} does not stand in the evidence" for hour in ("9 am", "5 pm")]


@pytest.mark.parametrize(
    ("said", "held"),
    [
        ("12% to $4.2 billion", "$4.2bn in FY2023, up 12% from $3.75bn"),
        ("from 3.75 to 4.2 billion dollars", "$4.2bn in FY2023, up 12% from $3.75bn"),
        ("5 may", "5"),
    ],
)
def test_what_goes_from_one_number_to_another_is_no_range_and_a_verb_no_month(said, held):
    assert missing(said, held) == []


def test_the_head_of_a_column_says_that_its_numbers_are_shares():
    table = "| Year | Growth, % |\n|---|---|\n| 2023 | 5 |\n| 2024 | 7 |"
    said = CheckedAnswer("In 2023 growth was 5% [1].", "?", {1: SourceResult(table, "1", "docs", "memory")})
    assert check_numbers(said) == []


def test_what_a_heading_or_the_head_of_a_table_says_is_said_of_all_below():
    table = "| Quarter | Revenue (million EUR) |\n|---|---|\n| Q1 | 12.4 |\n| Q2 | 13.9 |\n| Q3 | 11.8 |\n| Q4 | 15.2 |"
    text = "# Release 4.2.0 (2024-05-16)\n\n- Added: a cache.\n- Changed: the log.\n- Removed: Python 3.8.\n\n" + table
    evidence = {1: SourceResult(text, "1", "docs", "memory")}
    for said in ("Python 3.8 was removed in release 4.2.0 of May 16, 2024", "Revenue grew to 15.2 million EUR"):
        assert check_numbers(CheckedAnswer(f"{said} [1].", "?", evidence)) == []
    [flag] = check_numbers(CheckedAnswer("Python 3.8 was removed by 4.2 million users [1].", "?", evidence))
    assert flag["detail"].startswith("4.2 million does not stand")


def test_two_numbers_that_stand_in_one_sentence_are_held_there_in_whatever_words():
    text = (
        "Der Backofen BO-900 hat ein Volumen von 71 Litern und eine Leistung von 3,4 kW. Die Tür ist aus Glas. "
        "Sie wird verriegelt. Die Pyrolyse heizt 90 Minuten."
    )
    evidence = {1: SourceResult(text, "1", "docs", "memory")}
    assert check_numbers(CheckedAnswer("Der BO-900 fasst 71 l und leistet 3400 W [1].", "?", evidence)) == []
    flags = check_numbers(CheckedAnswer("Der BO-900 fasst 71 l und schafft das in 90 Minuten [1].", "?", evidence))
    assert "90 Minuten does not stand in the evidence near what is said of it" in [flag["detail"] for flag in flags]


@pytest.mark.parametrize(
    ("said", "flagged"),
    [
        ("It delivers 20 litres [1] and {} every 90 days [2].", []),
        ("It delivers 90 litres [1] and {} every 20 days [2].", ["90 l", "20 d"]),
        ("It delivers 20 litres [1], as [2] says, with a weight of 45 tons.", ["45"]),
        ("The leaflet calls it a cheap cleaner [1] with blue handles for 8 cents [2].", ["8 does"]),
    ],
)
def test_what_a_sentence_says_before_each_of_its_labels_is_held_against_what_that_cites(said, flagged):
    crew = "its filter cartridge is changed quarterly by somebody from the crew, that is,"
    other = "Filter F2 must be replaced every 90 days. The housing stays shut. Nobody opens it. It has 8 screws."
    texts = ("Vega delivers 20 litres per minute under full pressure.", other)
    evidence = {label: SourceResult(text, str(label), "docs", "memory") for label, text in enumerate(texts, 1)}
    found = [flag["detail"] for flag in check_numbers(CheckedAnswer(said.format(crew), "?", evidence))]
    assert [detail[: len(one)] for detail, one in zip(found, flagged, strict=True)] == flagged


@pytest.mark.covers("F21", "fault 28")
def test_a_number_from_a_sentence_about_something_else_does_not_count():
    text = (
        "Pump 17 in the northern hall is serviced by the morning crew every 90 days. Lunch is eaten at the canteen. "
        "Visitors leave their coats there. The canteen has 45 chairs along the windows."
    )
    evidence = {1: SourceResult(text, "1", "docs", "memory")}
    said = "Pump 17 in the northern hall is serviced by the morning crew every {} days [1]."
    assert check_numbers(CheckedAnswer(said.format(90), "?", evidence)) == []
    assert [flag["detail"] for flag in check_numbers(CheckedAnswer(said.format(45), "?", evidence))] == [
        "45 days does not stand in the evidence near what is said of it"
    ]


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        *(("1.234,50", ","), ("1,234.50", "."), ("1.234.567", ","), ("1,234,567", "."), ("12.5 and 1.234", ".")),
        *(("12,5 und 1.234", ","), ("0.125", "."), ("1.234", None), ("1,234 and 5", None), ("1.5 and 1,5", None)),
    ],
)
def test_the_other_numbers_of_a_text_tell_its_decimal_mark(text, mark):
    assert decimal_mark(text) == mark


WHOLE = st.integers(0, 10**9)


def _grouped(whole: int, mark: str) -> str:
    return f"{whole:,}".replace(",", mark)


def _digits(whole: int, cents: int, style: str) -> str:
    """Whole number and hundredths, written in one of several ways that can be read in one way only."""
    decimal = "," if style in (".", " ") else "."
    group = {"plain": "", ".": ".", " ": " ", "'": "'", ",": ","}[style]
    tail = f"{decimal}{cents:02}" if cents else ""
    # One group alone may be thousands or decimals.
    alone = group in (".", ",") and not tail and 1000 <= whole < 10**6
    return (str(whole) if alone else _grouped(whole, group)) + tail


STYLES = st.sampled_from(["plain", ".", ",", " ", "'"])
SIGNS = {False: ("", "+"), True: ("-", "−", "minus ", "–")}
SHARES = {False: ("",), True: ("%", " %", " percent", " per cent", "٪")}
VALUES = st.tuples(WHOLE, st.integers(0, 99), st.booleans(), st.booleans())


@st.composite
def forms(draw: st.DrawFn, value: tuple[int, int, bool, bool]) -> str:
    whole, cents, below, share = value
    return (
        draw(st.sampled_from(SIGNS[below])) + _digits(whole, cents, draw(STYLES)) + draw(st.sampled_from(SHARES[share]))
    )


@pytest.mark.guard
@given(st.data(), VALUES)
def test_a_value_in_two_forms_is_never_flagged(data, value):
    assume(value[0] or value[1])
    said, held = data.draw(forms(value)), data.draw(forms(value))
    assert missing(said, held) == []


@pytest.mark.guard
@pytest.mark.covers("fault 28")
@given(st.data(), VALUES, VALUES, st.sampled_from(["value", "sign", "share"]))
def test_another_value_sign_or_share_is_always_flagged(data, value, other, changed):
    assume((value[0], value[1]) != (0, 0))
    whole, cents, below, share = value
    if changed == "value":
        assume(other[:2] != value[:2])
        other = (*other[:2], below, share)
    else:
        other = (whole, cents, not below, share) if changed == "sign" else (whole, cents, below, not share)
    assert missing(data.draw(forms(value)), data.draw(forms(other)))


@pytest.mark.guard
@given(st.integers(1, 999), st.integers(0, 999), st.sampled_from(".,"))
def test_a_number_that_can_be_read_in_two_ways_is_held_by_itself_and_not_by_its_decimals(thousands, rest, mark):
    both = f"{thousands}{mark}{rest:03}"
    assert missing(both, both) == []
    # With four digits behind the point it can be read in one way only.
    assert missing(both, f"{thousands}.{rest:03}0")


@pytest.mark.covers("fault 28")
@pytest.mark.parametrize(("fence", "count"), [("text", 1), ("md", 1), ("python", 0), ("", 0)])
def test_a_fence_of_plain_text_is_stated_and_one_of_a_program_is_not(fence, count):
    evidence = SourceResult("The pump is serviced every 90 days.", "1", "docs", "memory")
    answer = CheckedAnswer(f"So it is [1]:\n```{fence}\nserviced every 45 days\n```", "How often?", {1: evidence})
    assert len(check_numbers(answer)) == count


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("The seal lasts thirty days.", True),
        ("It is changed in May, on a Monday.", True),
        ("Es wird im März gewechselt.", True),
        ("It lasts 30 days.", True),
        # Verbs, of which one begins a longer word with a capital.
        ("The seal may leak. Maybe they march on.", False),
        ("The seal leaks.", False),
        ("It is checked as Section 5.2 and table 3 say, since version 2.", False),
        ("Der Austausch steht in Abschnitt 5.2, voir le chapitre 4.", False),
        ("Section 5.2 gives it 30 days.", True),
    ],
)
def test_what_is_a_number_that_answers(text, held):
    assert holds_number(text) is held
