"""Quotes first: an answer without a model (S7)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.answers.block_kinds import figures_in
from groundgraph.answers.evidence_blocks import MAX_BLOCK, MAX_CODE, MAX_PARAGRAPH, Shape, blocks_of, in_markdown
from groundgraph.answers.quote_candidates import CODED, HEADED, Asked, candidates_of
from groundgraph.answers.quotes import (
    MAX_CHARS,
    MAX_CHARS_IN_LINES,
    MAX_QUOTES,
    select_for_parts,
    select_quotes,
    with_hidden,
    with_names,
)
from groundgraph.answers.sentence_index import sentences_of
from groundgraph.core.evidence import SourceResult, changed
from groundgraph.text.wording import code_name_stems
from groundgraph.text.words import fold, stem

pytestmark = pytest.mark.covers("S7")

SENTENCES = [
    "A refresh token lets a client get a new access token. ",
    "Access tokens expire after one hour by default. ",
    "The weather in Paris is mild in spring. ",
    "Токен доступа действует один час. ",
    "# Token expiry of clients\n\n",
    "| token | expires | after | hour |\n|--|--|--|--|\n",
    "👩\u200d💻 tokens של client expire now. ",
    "\n\n",
]
EVIDENCE = st.lists(st.lists(st.sampled_from(SENTENCES), max_size=8).map("".join), max_size=6)
QUESTIONS = st.sampled_from(
    ["When do access tokens expire?", "Сколько действует токен?", "weather", "", "what is the?", "👩\u200d💻", "zebra"]
)


def result(content: str, headings: list[str] | None = None) -> SourceResult:
    return SourceResult(content, "id", "docs", "memory", metadata={"headings": headings} if headings else {})


def test_the_best_of_a_source_is_not_behind_those_of_others_because_they_come_first():
    # As results are merged by turns: the best of each source, then the second best.
    texts = ["The tokens expire with the season of the fair.", *(f"Hall {one} is empty." for one in range(8))]
    others = [changed(result(text), source_name=f"s{place}") for place, text in enumerate(texts)]
    answer = changed(result("Access tokens expire after one hour by default."), source_name="manual")
    assert select_quotes("After which hour do access tokens expire?", [*others, answer])[0].label == len(others) + 1
    # Within a source what it found later counts less.
    clock = "Access tokens expire after one hour, and the clock tells."
    repeated = [changed(one, source_name="manual", content=f"{at}. {clock}") for at, one in enumerate([answer] * 9)]
    assert select_quotes("When do access tokens expire?", repeated)[0].label == 1


@given(EVIDENCE, QUESTIONS)
def test_quotes_are_verbatim_blocks_of_the_evidence_with_its_label(contents, question):
    quotes = select_quotes(question, [result(content) for content in contents])
    assert len(quotes) <= MAX_QUOTES
    for quote in quotes:
        content = contents[quote.label - 1]
        assert quote.text == content[quote.start : quote.end] == quote.text.strip()
        assert any(one.start < quote.end and quote.start < one.end for one in sentences_of(content))
        assert len(quote.text) <= MAX_BLOCK
        assert 0 < quote.score <= 1 + 1e-9
    assert sum(len(quote.text) for quote in quotes[1:]) <= MAX_CHARS + MAX_CHARS_IN_LINES


@given(EVIDENCE, QUESTIONS)
def test_quotes_are_deterministic_and_distinct(contents, question):
    evidence = [result(content) for content in contents]
    quotes = select_quotes(question, evidence)
    assert quotes == select_quotes(question, evidence)
    assert len({quote.text for quote in quotes}) == len(quotes)


PIECES = st.lists(st.tuples(st.lists(st.sampled_from(SENTENCES[:5]), max_size=4).map("".join), st.booleans()))


@pytest.mark.guard
@pytest.mark.parametrize("question", ["What is a file response?", "What is a FileResponse?"])
def test_the_name_of_a_class_heads_what_its_words_are_of(question):
    pieces = [
        SourceResult(text, name, "docs", "memory", score=score, metadata={"section": heading, "headings": [heading]})
        for name, text, score, heading in (
            ("a", "A file response of a test is closed.", 5.4, "Tests"),
            ("b", "Streams what a path leads to, as FileResponse does.", 5.0, "FileResponse"),
        )
    ]
    assert select_quotes(question, pieces)[0].label == 2


@pytest.mark.covers("L1")
@given(PIECES, QUESTIONS, st.floats(0.3, 0.99))
def test_what_is_left_out_unread_could_not_have_come_close(pieces, question, cut):
    evidence = [result(content, ["When access tokens expire"] if below else None) for content, below in pieces]
    asked = Asked.of(question, evidence)
    every, some = candidates_of(asked, evidence), candidates_of(asked, evidence, cut=cut, share=0.1)
    best = max((one.worth for one in every if one.score >= 0.1), default=0.0)
    assert {one for one in every if one.worth >= cut * best} <= set(some)


@pytest.mark.covers("A12", "L17")
def test_the_quote_that_is_worth_most_stands_first_wherever_it_stands_in_the_document():
    text = "Pumps are kept in hall 3. Valves are green. Pump 17 is serviced by the crew every 90 days."
    quotes = select_quotes("How often is pump 17 serviced by the crew?", [result("Pump 17 is old."), result(text)])
    assert quotes[0].text.endswith("Pump 17 is serviced by the crew every 90 days.")
    assert [quote.label for quote in quotes][0] == 2


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How long until access tokens expire?", "Access tokens expire after one hour by default."),
        ("What is the weather in Paris like?", "The weather in Paris is mild in spring."),
        ("Сколько действует токен доступа?", "Токен доступа действует один час."),
    ],
)
def test_a_question_about_one_thing_quotes_the_sentence_that_answers(question, answer):
    evidence = [result("".join(SENTENCES[:2])), result("".join(SENTENCES[2:4]))]
    assert answer in select_quotes(question, evidence)[0].text


def test_the_first_sentence_right_below_a_heading_is_quoted():
    text = "# Animals\nCats sleep 16 hours.\nDogs sleep 10 hours.\n"
    assert [one.text for one in select_quotes("How many hours do cats sleep?", [result(text)])] == [text[10:-1]]


@pytest.mark.parametrize("question", ["zebra crossings", "", "?!", "👩\u200d💻"])
def test_a_question_that_shares_no_word_is_given_no_quote(question):
    assert select_quotes(question, [result("".join(SENTENCES[:4]))]) == []


@pytest.mark.parametrize("headings", [None, ["10.4. When access tokens expire"]])
def test_headings_are_not_quoted(headings):
    content = "10.4.  When access tokens expire" if headings else "# When access tokens expire today"
    assert select_quotes("When do access tokens expire?", [result(content, headings=headings)]) == []


CODE = "```python\nclient = Client(timeout=10.0)\n\nclient.get(url)\n```"


@pytest.mark.covers("A13")
@pytest.mark.parametrize(
    ("question", "block"),
    [
        ("How do I set a timeout?", f"You can set a timeout on a client:\n\n{CODE}"),
        (
            "Which timeouts are there?",
            "There are two timeouts:\n\n* **connect** waits\n  for the host.\n* **read** for data.",
        ),
        (
            "What does connect wait for?",
            "There are two timeouts:\n\n* **connect** waits\n  for the host.\n* **read** for data.",
        ),
        ("How many seconds is the default?", "| default | seconds |\n|--|--|\n| connect | 5 |"),
        (
            "How many seconds has the handshake?",
            "<table>\n<tr><td>connect</td><td>5 seconds</td></tr>\n<tr><td>handshake</td><td>9</td></tr>\n</table>",
        ),
        (
            "How many seconds has the handshake?",
            "=========  =======\nwhat       seconds\n=========  =======\nhandshake  9\n=========  =======",
        ),
        ("What does client.get do with the url?", f"Then it is called, without a colon.\n{CODE}"),
    ],
)
def test_code_lists_and_tables_are_quoted_whole_with_what_introduces_them(question, block):
    content = f"# Clients\n\nSomething else stands here.\n\n{block}\n\nOther words follow."
    quote = select_quotes(question, [result(content)])[0]
    assert block in quote.text


def test_a_function_of_thirty_lines_is_quoted_whole_and_prose_beside_it():
    lines = [f"    value_{number} = service.read({number})" for number in range(25)]
    code = "\n".join(["```python", "def pump_served():", *lines, "    pump.serve(every=90)", "```"])
    stops = "A pump that is not served every 90 days stops. " * 3
    quotes = select_quotes(
        "How is a pump served every 90 days?", [result(f"Every 90 days a pump is served so:\n\n{code}"), result(stops)]
    )
    assert {code in quote.text for quote in quotes} == {True, False}
    assert stops.strip() in [quote.text for quote in quotes]


def test_of_code_that_is_too_long_the_lines_round_the_best_one_are_quoted():
    lines = [f"value_{number} = {number}" for number in range(200)]
    lines[150] = "pump.serve(every=90)"
    content = "\n".join(["```python", *lines, "```"])
    quote = select_quotes("How is a pump served every 90 days?", [result(content)])[0]
    assert "pump.serve(every=90)" in quote.text
    assert len(quote.text) <= MAX_CODE
    assert set(quote.text.splitlines()) <= set(content.splitlines())


def test_of_a_long_paragraph_the_sentences_that_answer_are_quoted():
    text = " ".join(
        [
            *["Valves are green and stand in the hall."] * 9,
            "Pump 17 is serviced every 90 days.",
            *["Lunch is at noon."] * 9,
        ]
    )
    [quote, *_] = select_quotes("How often is pump 17 serviced?", [result(text)])
    assert "Pump 17 is serviced every 90 days." in quote.text
    assert len(quote.text) <= MAX_PARAGRAPH


@pytest.mark.parametrize("filler", ["and then nothing else is said of it ", "a1, a2, a3, "])
def test_of_a_line_without_an_end_as_of_a_transcript_the_words_that_answer_are_quoted(filler):
    text = filler * 400 + "so pump 17 is serviced every 90 days " + filler * 400
    quotes = select_quotes("How often is pump 17 serviced?", [result(text)])
    assert "serviced every 90 days" in quotes[0].text
    assert sum(len(quote.text) for quote in quotes) <= MAX_CHARS_IN_LINES
    assert all(quote.text == text[quote.start : quote.end] for quote in quotes)


@pytest.mark.covers("A14")
def test_blocks_that_stand_together_are_one_quote():
    text = "Pump 17 is serviced every 90 days.\n\nPump 17 is serviced by the crew."
    assert [quote.text for quote in select_quotes("How is pump 17 serviced?", [result(text)])] == [text]


def test_the_piece_under_a_heading_of_what_is_asked_comes_before_others_that_hold_as_much():
    pieces = [
        SourceResult(
            "Haystack is for everyone.", "a", "docs", "memory", score=5.7, metadata={"headings": ["Who it is for"]}
        ),
        SourceResult(
            "Haystack is a framework.", "b", "docs", "memory", score=5.6, metadata={"headings": ["What is Haystack?"]}
        ),
    ]
    assert select_quotes("What is Haystack?", pieces)[0].text == "Haystack is a framework."


def test_the_number_of_a_section_is_none_of_what_it_is_about():
    pieces = [
        SourceResult(text, name, "docs", "memory", score=score, metadata={"headings": [heading]})
        for name, text, score, heading in (
            ("a", "New kinds of a grant are registered.", 5.4, "8.3. New kinds of a grant"),
            ("b", "A grant is a credential.", 5.0, "1.3. Grant"),
        )
    ]
    assert select_quotes("What is a grant?", pieces)[0].text == "A grant is a credential."


@pytest.mark.covers("L1")
@pytest.mark.parametrize("line", ["- item\n", "```\n", "text:\n\n", "| a |\n", "   o  x\n\n      y\n"])
def test_a_long_text_takes_time_in_proportion_to_its_length(line):
    select_quotes("item text", [result(line * 20_000)])


def test_of_equal_sentences_the_one_from_better_evidence_is_quoted_once():
    quotes = select_quotes("weather in Paris", [result(SENTENCES[2]), result(SENTENCES[2])])
    assert [quote.label for quote in quotes] == [1]


def test_a_limit_of_none_quotes_nothing():
    assert select_quotes("weather", [result(SENTENCES[2])], limit=0) == []


def test_what_a_text_stands_under_counts_too():
    body = "It was first shown in 1931. Many people came to see it."
    bare, titled = result(body), SourceResult(body, "id", "docs", "memory", metadata={"title": "Widget"})
    assert select_quotes("When was the widget shown?", [bare])[0].score < 1
    assert len(select_quotes("When was the widget shown?", [bare])) == 1
    assert select_quotes("When was the widget shown?", [titled])[0].score > 0.5


def test_a_heading_of_what_is_asked_goes_before_a_word_that_only_begins_alike():
    reset = "To clear the fault, open the tap until the gauge shows 1.5 bar, then press the button."
    pieces = {"Boiler > Reset": reset, "Boiler > Pressure": "The boiler is kept between 1.2 and 1.8 bar."}
    evidence = [SourceResult(text, "id", "docs", "memory", 1.0, {"section": name}) for name, text in pieces.items()]
    assert select_quotes("What pressure must the boiler have?", evidence)[0].label == 2


@pytest.mark.covers("C8")
def test_each_part_of_a_question_is_quoted_for_and_none_where_nothing_answers_it():
    evidence = [result("Access tokens expire after one hour by default."), result("Visitors sign in at the reception.")]
    parts = ["Where do visitors sign in?", "When do access tokens expire?"]
    assert [quote.label for quote in select_for_parts(dict.fromkeys(parts, ()), evidence)] == [2, 1]
    assert [quote.label for quote in select_for_parts({parts[0]: (), "Who founded the company?": ()}, evidence)] == [2]
    assert select_for_parts({}, evidence) == []


def test_a_sentence_of_three_words_is_quoted_with_its_paragraph():
    present = "Present: Lena Brandt, Tom Okafor, Raj Patel. Absent: Olga Smirnova."
    content = f"{present}\n\nThe price of the lamp rises in June."
    assert [quote.text for quote in select_quotes("Who was absent?", [result(content)])] == [present]


def test_of_a_table_without_an_end_of_a_sentence_the_line_that_answers_is_quoted():
    rows = [f"State{number} {number}1 {number}2 {number}3" for number in range(80)]
    content = "\n".join(["Background checks by state", *rows, "Alabama 18 870 23 022"])
    quotes = select_quotes("How many checks were there in Alabama?", [result(content)])
    assert any("Alabama 18 870 23 022" in quote.text for quote in quotes)
    assert max(len(quote.text) for quote in quotes) <= MAX_BLOCK


def test_a_question_that_leans_on_another_is_quoted_for_with_that_ones_words():
    texts = ["The X3 costs 8450 euros.", "The warranty of the X3 is 36 months."]
    evidence = [result(text) for text in texts]
    assert select_quotes("And of the X3?", evidence)[0].text == texts[0]
    behind = select_quotes("And of the X3?", evidence, behind="What is the warranty of the X2?")
    assert behind[0].text == texts[1]


def test_where_a_link_leads_is_no_word_of_its_sentence():
    linked = result("Make client files with [trustme](https://example.org/python-trio/trustme) for the client.")
    own = result("The client supports asyncio or trio as environments.")
    assert select_quotes("Can I use the client with trio?", [linked, own])[0].label == 2


def test_what_holds_a_code_of_the_question_goes_before_what_holds_its_words():
    others = result("There are environment variables that configure a proxy.")
    own = result("The variable `NO_PROXY` names addresses that are asked directly.")
    assert select_quotes("Is the NO_PROXY variable read?", [others, own])[0].label == 2


def test_a_name_of_the_question_that_no_quote_holds_is_quoted_for():
    others = "These statistics are firearm background checks. A firearm background check is no sale."
    states = "\n".join(f"{name} 264 12 14" for name in ("Kansas", "Kentucky", "Louisiana"))
    evidence = [result(f"{others} Firearm background checks count."), result(f"Permit, handgun.\n{states}")]
    question = "How many firearm background checks were there in Kentucky?"
    quotes = select_quotes(question, evidence)
    assert not any("Kentucky" in quote.text for quote in quotes)
    named = with_names(question, quotes, evidence)
    assert named[0] == quotes[0]
    assert "Kentucky 264" in named[-1].text
    assert len(named) <= MAX_QUOTES
    # What stands nowhere, or under a title that names it, needs no other quote.
    assert with_names("How many background checks were there in Ohio?", quotes, evidence) == quotes
    titled = [SourceResult(piece.content, "id", "docs", "memory", metadata={"title": "Kentucky"}) for piece in evidence]
    assert with_names(question, quotes, titled) == quotes


@pytest.mark.parametrize("hidden", ["x = 4 * {seal} / (pressure + 2) <bar> [max] = 9;", "Seal pressure: 9 bar"])
def test_what_cannot_stand_alone_is_quoted_where_nothing_else_holds_what_is_asked(hidden):
    content = f"The pump stands in hall 4.\n\n{hidden}\n\nThe pump weighs 12 kg."
    running = {"running_lines": ["Seal pressure: # bar"]}
    evidence = [SourceResult(content, "id", "docs", "memory", metadata=running)]
    question = "What is the seal pressure of the pump?"
    quotes = with_hidden(question, select_quotes(question, evidence), evidence)
    assert quotes[0].text == hidden
    assert with_hidden("What does the pump weigh?", quotes[1:], evidence) == quotes[1:]


def test_a_short_answer_below_its_own_question_is_quoted():
    question = "How long is the warranty of the saw?"
    content = f"# Saw\n\nThe drill is checked.\n\n### {question}\n\n36 months.\n\n### Who repairs it?\n\nMoser"
    evidence = [SourceResult(content, "id", "docs", "memory", metadata={"section": f"Saw > {question}"})]
    quotes = select_quotes(question, evidence)
    assert any("36 months." in quote.text for quote in quotes)
    assert not any("#" in quote.text for quote in quotes)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("How long is the warranty?", "Two years."),
        ("What about the warranty?", "Two years."),
        ("How long is the warranty of batteries?", "The warranty of batteries is six months."),
    ],
)
def test_what_stands_under_just_what_is_asked_goes_before_an_exception_below_it(question, first):
    rule = SourceResult("## Warranty\n\nTwo years.", "1", "docs", "memory", metadata={"section": "Warranty"})
    exception = SourceResult(
        "### Warranty of batteries\n\nThe warranty of batteries is six months.",
        "2",
        "docs",
        "memory",
        metadata={"section": "Warranty > Warranty of batteries"},
    )
    pieces = [
        changed(rule, metadata={**rule.metadata, "headings": ["Warranty"]}),
        changed(exception, metadata={**exception.metadata, "headings": ["Warranty", "Warranty of batteries"]}),
    ]
    assert select_quotes(question, pieces)[0].text == first


@pytest.mark.parametrize("question", ["What is a refresh token?", "What are refresh tokens?", "Refresh token?"])
def test_of_what_stands_under_just_what_is_asked_the_earliest_of_a_document_goes_before_what_comes_later(question):
    def piece(label: int, section: str, text: str, position: int) -> SourceResult:
        places = {"document": "rfc.txt", "position": position, "headings": [section]}
        return SourceResult(f"{section}\n\n{text}", f"rfc#{label}", "docs", "knowledge_base", metadata=places)

    late = piece(1, "10.4. Refresh Tokens", "Refresh tokens must be kept confidential in transit.", 90)
    early = piece(2, "1.5. Refresh Token", "Refresh tokens are credentials used to get access tokens.", 7)
    close = [changed(late, score=2.1), changed(early, score=2.0)]
    assert [quote.label for quote in select_quotes(question, close)[:2]] == [2, 1]
    # What is asked of a thing may stand anywhere.
    assert select_quotes("Must a refresh token be kept confidential?", close)[0].label == 1
    # Of another document it is not known which one comes first.
    [other, own] = changed(late, metadata={**late.metadata, "document": "other.txt"}), close[1]
    assert select_quotes(question, [changed(other, score=2.1), own])[0].label == 1
    # Nor of rows that have a column of that name, and are of no document.
    rows = [changed(one, metadata={**one.metadata, "document": None}) for one in close]
    assert select_quotes(question, rows)[0].label == 1


@pytest.mark.parametrize(
    "told",
    [
        "resource owner\n      An entity that may grant access.",
        "**resource owner**: an entity that may grant access.",
        "Resource owner\n:   An entity that may grant access.",
        "* `resource owner` – an entity that may grant access.",
    ],
)
def test_what_tells_of_a_term_goes_before_what_uses_it(told):
    def first(told: str) -> str:
        used = result("Tokens represent what the resource owner granted. The resource owner signs in first.")
        glossary = result(f"Some terms follow here.\n\n{told}")
        close = [changed(used, score=2.1), changed(glossary, score=2.0)]
        return select_quotes("What is a resource owner?", close)[0].text

    assert "entity" in first(told)
    # A term of more words is another one, and a paragraph that is set in tells of none.
    assert "entity" not in first(told.replace("owner", "owner password"))
    assert "entity" not in first("Because the resource owner\n   is an entity, it signs in.")


@pytest.mark.parametrize(
    ("question", "number"),
    [("How long is the cabinet guaranteed?", True), ("How is the cabinet guaranteed?", False)],
)
def test_where_a_number_is_asked_for_a_sentence_with_one_goes_before_one_without(question, number):
    told = ("The cabinet is guaranteed against rust.", "The cabinet is guaranteed for three years.")
    [first] = select_quotes(question, [changed(result(one), score=2.0) for one in told], limit=1)
    assert ("three years" in first.text) == number


@pytest.mark.parametrize(
    ("question", "named"),
    [("How do I write a .env file?", "`.env`"), ("How do I write env in a file?", "`env_prefix`")],
)
def test_what_is_named_with_a_full_stop_is_held_as_it_is_written(question, named):
    told = ("To write a file, set `env_prefix`.", "To write a file, such as `.env`, open it.")
    [first] = select_quotes(question, [changed(result(one), score=2.0) for one in told], limit=1)
    assert named in first.text


def test_each_field_of_restructuredtext_is_shown_in_lines_of_its_own():
    text = "It ends with a code:\n\n:Code 0: All pumps\n   run.\n:Code 1: See :ref:`pumps`: some do not.\n\nDone."
    shown = "It ends with a code:\n\n:Code 0: All pumps run.\n\n:Code 1: See pumps: some do not.\n\nDone."
    assert in_markdown(Shape(text), 0, len(text)) == shown


@pytest.mark.parametrize("mark", [".. setting:: pump_limit", ".. py:data:: pump.limit"])
def test_what_a_directive_names_is_not_shown_as_words_of_the_paragraph_below(mark):
    (quote,) = select_quotes("What is the pump limit?", [result(f"{mark}\n\nThe pump limit is ten.")], 1)
    assert quote.text == "The pump limit is ten."


def test_a_version_is_held_where_it_stands_and_not_where_its_numbers_do():
    told = ("Kestrel 4.0 supports Python 3.8 since 2.8.4.", "Kestrel 4.2 supports Python 3.8 and 3.9.")
    (quote,) = select_quotes("Which Python versions does Kestrel 4.2 support?", list(map(result, told)), 1)
    assert quote.text == told[1]


def test_below_a_heading_that_names_a_code_a_sentence_need_not_hold_it():
    question, text = (
        "What is the default of max_threads in a file?",
        "It is read from the file, and ten is the default.",
    )

    def worth(heading: str) -> float:
        told = SourceResult(text, "id", "docs", "memory", metadata={"headings": [heading], "section": heading})
        [only] = candidates_of(Asked.of(question, [told]), [told])
        return only.worth

    assert worth("max_threads") > worth("threads: max") + CODED / 2


def below(heading: str, content: str) -> SourceResult:
    return SourceResult(content, "id", "docs", "memory", metadata={"headings": [heading], "section": heading})


def test_the_value_of_a_name_is_quoted_though_it_is_short():
    told = below(
        "max_requests", "Default: 16\n\nThe largest number that is sent at the same time to one server.\n\nOften 8."
    )
    (quote,) = select_quotes("What is the default of max_requests?", [told], limit=1)
    assert quote.text.startswith("Default: 16")


def test_a_name_with_capitals_within_is_one_of_code_and_an_abbreviation_is_none():
    named = "FrameReader, JSONFrame and getFrame, no HTML, CPUs or Frames"
    assert code_name_stems(named) == tuple((stem(fold(one)),) for one in ("FrameReader", "JSONFrame", "getFrame"))


def test_what_stands_below_a_name_of_code_is_quoted_before_what_uses_the_other_words():
    own = below("FrameReader", "Reads.\n\nThe following arguments are supported:\n\n* `size` - Bytes of a frame.")
    other = below("Testing a session", "`connect(url, **options)` takes the same set of arguments as `FrameReader`.")
    (quote,) = select_quotes("What arguments does FrameReader take?", [own, other], limit=1)
    assert "`size` - Bytes of a frame." in quote.text


def test_below_a_heading_that_is_all_that_is_asked_a_sentence_need_not_repeat_it():
    use = "Many set max_requests in a file that all workers read, and max_requests in another one."
    told = below("max_requests", f"The most that a worker serves before it starts anew.\n\n{use} {'Or not so. ' * 9}")
    (quote,) = select_quotes("What does max_requests do?", [told], limit=1)
    assert quote.text.startswith("The most that a worker serves")


@pytest.mark.parametrize(
    ("path", "asked"),
    [("Fields > Essential", "What does the Essential field mean?"), ("Pool of Valve Units (PVU)", "What is a PVU?")],
)
def test_a_piece_is_about_what_its_headings_name_together_or_by_a_short_form(path, asked):
    def worth(section: str) -> float:
        heading = section.rpartition(" > ")[2]
        metadata = {"headings": [heading], "section": section}
        told = SourceResult("It may stand once, and then has a value.", "id", "docs", "memory", metadata=metadata)
        [only] = candidates_of(Asked.of(asked, [told]), [told])
        return only.worth

    # Of the same words, another heading is lowest.
    assert worth(path) > worth(f"{path} > When others have it") + HEADED / 2


def test_a_term_and_what_stands_above_it_are_what_is_asked_about_together():
    def worth(term: str) -> float:
        told = below("Client types", f"{term}\n    Whoever of them cannot keep a secret.")
        [only] = candidates_of(Asked.of("What is a public client?", [told]), [told])
        return only.worth

    assert worth("public") == pytest.approx(worth("public kinds") + HEADED)


def test_what_tells_of_a_file_as_its_term_comes_before_what_uses_it():
    entries = "* ``setup.cfg`` - the options of all tools.\n* ``env.py`` - a script that is run with each command."
    told = result(f"The file env.py is read by the env.py of the parent.\n\n{entries}")
    (quote,) = select_quotes("What is the env.py file?", [told], limit=1)
    assert "a script that is run with each command" in quote.text


@pytest.mark.parametrize(
    ("question", "begins"),
    [("Who greases the bearing?", "The bearing"), ("Which seals are below the application?", "application")],
)
def test_the_rest_of_a_sentence_that_began_on_the_page_before_does_not_begin_a_quote(question, begins):
    page = (
        "The seals are\n\nManual of pumps 17\n\nbelow the application of seals. The bearing is greased by two fitters."
    )
    page = page.replace("below the application", "application below")
    told = SourceResult(page, "id", "docs", "memory", metadata={"running_lines": ["Manual of pumps #"]})
    (quote,) = select_quotes(question, [told], limit=1)
    assert quote.text.startswith(begins)


@pytest.mark.parametrize("below", ["", "\n\nbelow the application of seals."])
def test_a_sentence_that_goes_on_on_the_next_page_ends_no_quote_and_is_none(below):
    page = f"The bearing is greased by two fitters. The old seals must never be greased\n\nManual of pumps 17{below}"
    told = SourceResult(page, "id", "docs", "memory", metadata={"running_lines": ["Manual of pumps #"]})
    (quote,) = select_quotes("Who greases the bearing?", [told], limit=1)
    assert quote.text == "The bearing is greased by two fitters."
    assert not [one for one in select_quotes("Must the old seals be greased?", [told], limit=1) if "never" in one.text]
    ended = SourceResult(page.replace(" greased\n", " greased.\n"), "id", "docs", "memory", metadata=told.metadata)
    (quote,) = select_quotes("Must the old seals be greased?", [ended], limit=1)
    assert quote.text.endswith("must never be greased.")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Set :setting:`drain_valve` to 1.", "Set `drain_valve` to 1."),
        ("See :ref:`the valves <valves-of-hall-3>` and :std:ref:`pumps`.", "See the valves and pumps."),
        ("It is a :py:class:`~plant.halls.Pump`, not a :class:`!Valve`.", "It is a `Pump`, not a `Valve`."),
        ("By :rfc:`2045` and :pep:`8`.", "By RFC 2045 and PEP 8."),
        ("By `the maker <https://example.org/a_b>`_ of it.", "By [the maker](https://example.org/a_b) of it."),
        ("See `the valves <valves_>`_ and `this <javascript:alert(1)>`_.", "See the valves and this."),
        ("See `Why is it cold?`_, `valves`__ (or `pumps`_).", "See Why is it cold?, valves (or pumps)."),
        # In Markdown code alone, emphasis, a name with colons.
        ("Use `a:b:` and `c`, _as `d`_, at 10:20:`30`.", None),
        ("_Open `valve`_ by `_hand_`.", None),
        ("Call `open`_valve and \\`valve`_.", None),
        ("The ratio is 1:n:`x` and ``:ref:`x` ``.", None),
    ],
)
def test_roles_and_links_of_restructuredtext_are_shown_as_markdown_says_them(text, shown):
    assert in_markdown(Shape(text), 0, len(text)) == (shown or text)


def test_what_only_refers_to_another_section_is_not_quoted():
    told = result("The drain valve opens late.\n\nValves: :ref:`drain-valve-late`.\n\nSee also :doc:`drain-valve`.")
    quotes = select_quotes("When does the drain valve open?", [told])
    assert [quote.text for quote in quotes] == ["The drain valve opens late."]


@pytest.mark.parametrize("rule", ["~" * 10, '"' * 10, "-" * 10])
def test_text_right_below_an_underlined_heading_is_no_code(rule):
    text = f"Fixtures\n{rule}\nYou can change a fixture of the hall to drain it.\n\nThe others stay."
    (quote, *_) = select_quotes("How do I change a fixture?", [result(text)])
    assert quote.text == "You can change a fixture of the hall to drain it."
    assert "```" not in in_markdown(Shape(text), 0, len(text))


def test_a_line_of_tildes_below_a_paragraph_sets_out_code():
    text = "Open it so:\n~~~\nopen valve\n~~~\n"
    assert in_markdown(Shape(text), 0, len(text)) == "Open it so:\n\n```\nopen valve\n```"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("   seal ring\n      A ring that\n      keeps oil in.", "seal ring  \nA ring that keeps oil in."),
        # A paragraph that begins further out, one that is set in as a whole, one whose first line ends a clause.
        ("The seal ring of a pump, of which there are two in each of the halls\n   keeps oil in.", None),
        ("   A seal ring\n   keeps oil in.", None),
        ("If the seal leaks,\n   change it.", None),
        # Where a text begins, the rest of an item of a list that was cut.
        ("Lowering this makes the\n  pumps run slower.", None),
        ("seal ring\n    A ring that keeps oil in.", "seal ring  \nA ring that keeps oil in."),
        # What begins code is no term, where a chunk begins with what is left of it.
        ("class Pump(Machine):\n    def run(self): ...", None),
    ],
)
def test_an_entry_of_a_glossary_is_shown_in_two_lines(text, shown):
    assert in_markdown(Shape(text), 0, len(text)) == (shown or " ".join(text.split()))


def test_an_entry_of_a_glossary_is_quoted_with_its_term_where_a_chunk_begins_with_it():
    told = (
        "RECOMMENDED. The lifetime in seconds of the access token. " + "It counts from when the response was made. " * 5
    )
    entry = "expires_in\n      " + told + "If omitted, the server should\n      tell the time of expiry by other means."
    pages = {"running_lines": ["Hardt Standards Track [Page #]"]}
    listed = SourceResult(f"{entry}\n\nscope\n      OPTIONAL.", "id", "docs", "memory", metadata=pages)
    (quote,) = select_quotes("What if the lifetime is omitted?", [listed], 1)
    assert quote.text == entry
    assert MAX_PARAGRAPH < len(entry) < MAX_BLOCK


@pytest.mark.parametrize(("below", "kind"), [("   ", "prose"), ("", "code")])
def test_what_a_cut_text_begins_with_is_set_in_as_its_second_line(below, kind):
    text = f"These parameters of a pump are written\n{below}into the table of the hall:\n\n   speed\n      In turns."
    assert [block.kind for block in blocks_of(Shape(text))] == ["prose", kind]


@pytest.mark.parametrize("title", ["Oil and seals", "FAQ"])
def test_tildes_below_a_heading_begin_no_code(title):
    text = f"{title}\n{'~' * len(title)}\n\nPump 17 leaks where the seal is old.\n\nOil it every 90 days.\n"
    (quote,) = select_quotes("Where does pump 17 leak?", [result(text)], limit=1)
    assert quote.text == "Pump 17 leaks where the seal is old."
    # Right above its first line, or below a longer line, they do.
    for fenced in ("Run\n~~~\nleak(pump)\n~~~", "Run the pump:\n\n~~~\n\nleak(pump)\n\n~~~"):
        assert [block.kind for block in blocks_of(Shape(fenced))][-1] == "code"


def test_a_row_of_a_table_goes_before_a_sentence_that_holds_as_much():
    table = result("Rates:\n\n| Service | Price |\n|---|---|\n| Massage at home | 45 |\n| Massage here | 30 |\n")
    told = result("A massage takes half an hour. Please be quiet.")
    [first, *_] = select_quotes("What does a massage at home cost?", [told, table])
    assert (first.label, "| Massage at home | 45 |" in first.text) == (2, True)


def test_a_row_of_figures_is_quoted_as_a_row_with_what_stands_above_the_rows():
    page = (
        "Weekly report of the office, which is written every Friday by whoever is there and sent to all halls.\n"
        "Ethanol ($/gal)\nIowa 1.35 - 1.42 1.38 - 1.43 1.27 - 1.35\nNebraska 1.38 - 1.40 1.36 - 1.43 1.27 - 1.35\n"
        "Biodiesel ($/gal)\nIowa 2.85 2.99 - 3.30 2.85 - 3.07\nIllinois unq 3.47 - 3.54 2.95\n"
    )
    (quote,) = select_quotes("Ethanol in Nebraska", [result(page)], limit=1)
    assert quote.text.split("\n") == ["Ethanol ($/gal)", *page.split("\n")[2:4]]
    apart = page.replace("($/gal)\nIowa", "($/gal)\n\nIowa")
    (alone,) = select_quotes("Ethanol in Nebraska", [result(apart)], limit=1)
    assert alone.text == page.split("\n")[3]
    shown = in_markdown(Shape(page), quote.start, quote.end)
    assert shown == "Ethanol ($/gal)\n\n```\n" + "\n".join(page.split("\n")[2:4]) + "\n```"


def test_numbers_in_prose_are_no_row_of_figures():
    lines = ["The hall was built in 1998, 1999 and 2001,", "and 12 of its 40 lamps were changed in 2004", "and 2005."]
    assert figures_in(lines) == [False, False, False]
    assert figures_in(["1 2 3", "Words stand here.", "4 5 6"]) == [False, False, False]


def test_code_that_only_names_what_the_heading_names_goes_before_no_sentence():
    code = "```python\nfrom pumps import SealMonitor\n\nmonitor = SealMonitor(limit=3)\n```"
    between = "It writes the pressure of the oil in both halls down every minute.\n\n" * 9
    text = f"Watches the seals of every pump.\n\n{between}This may delay the start of the pump.\n\n{code}\n"
    told = SourceResult(text, "id", "docs", "memory", metadata={"section": "SealMonitor", "headings": ["SealMonitor"]})
    assert select_quotes("What is SealMonitor?", [told], limit=1)[0].text.startswith("Watches the seals of every pump.")


def test_the_rest_of_a_sentence_where_a_text_of_pages_begins_begins_no_quote():
    page = "but kept by the fitters. If a seal leaks, the fitters change it.\n\nManual of pumps 17"
    told = SourceResult(page, "id", "docs", "memory", metadata={"running_lines": ["Manual of pumps #"]})
    (quote,) = select_quotes("What do the fitters do if a seal leaks?", [told], limit=1)
    assert quote.text == "If a seal leaks, the fitters change it."
