"""Quotations against the evidence: insertions, marks within marks, links, words that are cut."""

from __future__ import annotations

import pytest
from growth import cpu_seconds

from groundgraph.answers.check_quotes import check_quotes, spans_in_marks
from groundgraph.answers.citations import CheckedAnswer
from groundgraph.core.evidence import SourceResult

PUMPS = SourceResult(
    "Pump 17 is serviced every 90 days by the crew of hall 3. It is never painted. “Valves are unsafe to open,” the "
    "sheet says. To get started, see [Managing image layers](https://docs.example/layers_(old)). A common example is "
    "the “grandparent scam.” Use the `--fast` flag of the [tool][ref] twice. He served as head of the hall.",
    "1",
    "docs",
    "memory",
    1.0,
    {"title": "Pump 17 and others"},
)
OTHER = SourceResult("Boilers are serviced every year. Boilers are red [sic] in colour.", "2", "docs", "memory")


def check(text: str, question: str = "Which pump is it?"):
    flags, found = check_quotes(CheckedAnswer(text, question, {1: PUMPS, 2: OTHER}))
    for quote in found:
        assert quote["text"] == {1: PUMPS, 2: OTHER}[quote["label"]].content[quote["start"] : quote["end"]]
    return flags, found


@pytest.mark.covers("F20", "fault 104")
@pytest.mark.parametrize(
    "text",
    [
        "“Pump 17 is [never and under no circumstances] serviced every 90 days.” [1]",
        "“Pump 17 is [never] serviced every 90 days.” [1]",
        "“Pump 17 is [not] serviced every 90 days” [1].",
        "“Pump 17 is serviced every 90 [working] days” [1].",
        "“Valves are [completely] unsafe to open” [1].",
        "“Pump 17 is [un]serviced every 90 days” [1].",
        "“To get started, see [Managing image **backups**](url).” [1]",
        "“To get started, see [Managing image **backups**][ref].” [1]",
        "“A **rare** example is the “grandparent scam.”” [1]",
        '"A rare example is the "grandparent scam."" [1]',
        "«A rare example is the «grandparent scam»» [1].",
        "„A rare example is the “grandparent scam”“ [1].",
        "Use it, as in “use the `--slow` flag of the tool” [1].",
        "The sheet says 'Pump 17 is serviced each 90 days' [1].",
        "'Pump 17's seal is red' stands there [1].",
        "It says ‘it is always painted’, and no more [1].",
        "‚Pump 17 is serviced by nobody‘ [1].",
        "It says ``Pump 17 is never serviced'' [1].",
        # The word of the evidence is "unsafe".
        "“safe to open,” the sheet says [1].",
        # What is joined stands in two pieces of evidence, or the other way round in one.
        "“Pump 17 is serviced … every year” [1, 2].",
        "“It is never painted … Pump 17 is serviced every 90 days” [1].",
    ],
)
def test_a_quotation_with_words_that_the_evidence_does_not_hold_is_flagged(text):
    assert [flag["kind"] for flag in check(text)[0]] == ["quote_not_found"]


@pytest.mark.covers("F20", "fault 104", "fault 103")
@pytest.mark.parametrize(
    "text",
    [
        "The workers' hall and the '90s pumps of the drivers' crew [1].",
        "It's the crew's hall, isn't it, the boys' and the girls' [1].",
        "Take 5' by 3' boards, or rock 'n' roll 'em over the workers' floor [1].",
        "C'est l'eau d'ici, qu'il n'a pas d'ailleurs' [1].",
        "'It is never painted' says the sheet, and ‘of the crew’s hall’ means 'hall 3' [1].",
        "As it says: 'serviced every 90 days', 'by the crew of hall 3' and `it's never 'red' [1].",
    ],
)
def test_an_apostrophe_is_no_quotation(text):
    flags, _ = check(text.replace("‘of the crew’s hall’", "‘by the crew’"))
    assert flags == []


@pytest.mark.covers("F20", "fault 104")
@pytest.mark.parametrize(
    "text",
    [
        "“[Pump 17] is serviced every 90 days” [1].",
        "“[p]ump 17 is serviced every 90 days” [1].",
        "“Pump 17 is serviced […] by the crew [of hall 3]” [1].",
        "“He serve[d] as head of the hall” [1].",
        "“He serve[s] as head of the hall” [1].",
        "“Pump 17 is serviced every 90 days [sic] by the crew” [1].",
        "“Boilers are red [sic] in colour” [2].",
        "“To get started, see [Managing image layers](elsewhere).” [1]",
        "“To get started, see Managing **image** layers.” [1]",
        "“A common example is the “grandparent scam.”” [1]",
        '"A common example is the "grandparent scam."" [1]',
        "«A common example is the 'grandparent scam'» [1].",
        "„A common example is the “grandparent scam.”“ [1]",
        "“Use the `--fast` flag of the tool twice” [1].",
        r"“Use the \-\-fast flag of the tool twice” [1].",
        r"“Boilers are red \[sic\] in colour” [2].",
        "“Pump 17 is serviced every 90 days … It is never painted” [1].",
    ],
)
def test_a_quotation_that_changes_only_marks_and_what_an_editor_may_change_is_not(text):
    flags, found = check(text)
    assert flags == []
    assert found


@pytest.mark.covers("F21", "fault 27")
@pytest.mark.parametrize(("words", "flagged"), [("boiler is", 0), ("a boiler is", 1), ("the boiler is blue", 1)])
def test_three_words_are_a_quotation_and_two_a_term(words, flagged):
    assert len(check(f"The sheet says “{words}” [1].")[0]) == flagged


@pytest.mark.covers("F21", "fault 27")
def test_words_of_the_question_may_stand_in_quotation_marks():
    text = "The evidence does not mention “the pump of hall 9”."
    assert check(text, "What about the pump of hall 9?")[0] == []
    assert len(check(text, "What about the pump of hall 8?")[0]) == 1


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("A “b c” d «e “f” g»", ["b c", "e “f” g"]),
        ("“so“ und „wie es“ ist", ["so", "wie es"]),
        ('a 5" pipe and a 3" pipe', []),
        ('("a b")—"c d", "e f"', ["a b", "c d", "e f"]),
        ("“never closed\n\n“and b”", ["and b"]),
        ('- a "stray\n- mark "then a whole one"', ["then a whole one"]),
        ("“a «b” c", ["a «b"]),
    ],
)
def test_the_outer_marks_bound_a_quotation(text, inside):
    assert [text[start:end] for start, end in spans_in_marks(text)] == inside


@pytest.mark.covers("F12", "F20")
@pytest.mark.parametrize(
    "unit",
    [
        *("“", "”", "„", "«", "»", '"', '"a', ' "', "“”", "“a b c”", "[", "]", "[a]", "a[b]", "[a]("),
        *("![a](b", "\n", "\n\n"),
        *("“\n- ", "\\", "…", "a…", "...", "[…]", "(", "`", "`a`", "a ", "aa ", "*", "[a][", "не [не] "),
    ],
)
@pytest.mark.parametrize("around", ["{}", "“Pump 17 is serviced {} every” [1]"])
def test_checking_a_quotation_takes_time_in_proportion_to_its_length(unit, around):
    answer = CheckedAnswer(around.format(unit * (16_000 // len(unit))), "?", {1: PUMPS, 2: OTHER})
    assert cpu_seconds(lambda: check_quotes(answer)) < 1.0


@pytest.mark.parametrize(
    ("text", "flagged"),
    [
        ("It says:\n\n> Pump 17 is serviced each 90 days by the crew [1]", True),
        ("> Pump 17 is thoroughly serviced\n> every 90 days [1]\n\nThat is all.", True),
        (
            "It says:\n\n> Pump 17 is serviced every 90 days\n> by the crew of hall 3. [1]\n> — Pump 17 and others",
            False,
        ),
        ("> Pump 17 is serviced every 90 days [1]\n>\n> It is never painted [1]", False),
        # Neither a note, nor what the model says beside a quotation of its own, nor what cites nothing.
        ("> **Note:** keep the pump dry at all times [1]", False),
        ("> The sheet holds that “valves are unsafe to open” [1]", False),
        ("> Here is all that I could find about it\n\nPump 17 is serviced every 90 days [1].", False),
    ],
)
def test_a_block_quote_with_a_label_is_a_quotation(text, flagged):
    assert bool(check(text)[0]) is flagged


def test_many_block_quotes_are_read_in_a_time_that_grows_with_the_text():
    for run in ("> a b c d\n", ">", "> ", ">\t\n", "> —\n"):
        assert cpu_seconds(lambda run=run: check(run * (20_000 // len(run)))) < 2
