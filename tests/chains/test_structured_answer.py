"""Answers by template, and the built-in one that quotes first (S4, S7)."""

from __future__ import annotations

import pytest

from groundgraph.answers.structured_answer import AnswerTemplates, structured_draft, template_variables
from groundgraph.core.errors import TemplateInvalid
from groundgraph.core.evidence import SourceResult
from groundgraph.core.turn_values import EMPTY_RANKING
from groundgraph.prompts import Prompts
from groundgraph.settings.answers import SynthesisSettings

PROMPTS = Prompts()
EVIDENCE = [
    SourceResult("Tokens expire after one hour. Clients then wait.", "a", "docs", "memory", 0.9, {"title": "Tokens"}),
    SourceResult("The case was closed.", "b", "cases", "memory", 0.4),
]


def compiled(**options) -> AnswerTemplates:
    return AnswerTemplates.compile(SynthesisSettings(**options), PROMPTS)


def doubted(doubt):
    return {**EMPTY_RANKING, "doubt": doubt}


def variables(evidence=EVIDENCE, message: str = "When do tokens expire?"):
    return template_variables(
        evidence, message=message, metadata={"user": "u"}, intent={"scope": "focused"}, citation_format="section"
    )


@pytest.mark.covers("S7")
def test_the_built_in_answer_quotes_first_and_then_lists_the_results_by_source():
    text = compiled().structured(variables(), "en")
    assert text.startswith("From the evidence:\n\n> Tokens expire after one hour. Clients then wait. [1]\n> — Tokens\n")
    assert text.index("> Tokens") < text.index("\n---\n") < text.index("## Sources") < text.index("**cases**")
    assert "- [2] b (relevance 0.40): The case was closed." in text


@pytest.mark.covers("A12", "A14", "A18")
def test_each_quote_stands_once_and_the_listing_below_a_line_names_only_what_is_not_quoted():
    many = [
        SourceResult(
            "Hall 3 has pumps. Pump 17 is serviced every 90 days.", "a", "docs", "memory", 0.9, {"start": 100}
        ),
        SourceResult("Pump 17 is serviced with grease.", "b", "docs", "memory", 0.8, {"title": "Grease"}),
        SourceResult("Lunch is at noon.", "c", "cases", "memory", 0.4),
    ]
    draft = structured_draft(compiled(), variables(many, "Is pump 17 serviced?"), "en", listed=True)
    text = draft["text"]
    assert text.count("Pump 17 is serviced every 90 days.") == text.count("Pump 17 is serviced with grease.") == 1
    body, listing = text.split("\n---\n")
    assert "> — Grease" in body
    assert "**docs**" not in listing
    assert "- [3] c" in listing
    assert text[draft["body"] :].startswith("\n---\n")
    printed = [line.removeprefix("> ")[: -len(" [1]")] for line in body.splitlines() if line.endswith("]")]
    assert [quote["text"] for quote in draft["quotes"]] == printed
    [first] = [quote for quote in draft["quotes"] if quote["text"].endswith("every 90 days.")]
    assert (first["start"], first["end"]) == (100, 152)


@pytest.mark.covers("A13")
def test_a_row_is_shown_cell_by_cell_and_rows_that_fit_alike_one_below_the_other():
    def row(number: int, status: str) -> SourceResult:
        told = {"table": "pumps", "key": number, "pump": f"P{number}", "status": status}
        return SourceResult(f"pump: P{number}\nstatus: {status}", f"pumps/{number}", "plant", "sql", 0.9, told)

    def shown(*rows: SourceResult) -> list[str]:
        given = variables(list(rows), "Which pump is stopped?")
        return [quote["text"] for quote in given["quotes"]]

    assert shown(row(1, "stopped"), row(2, "running"))[0] == "pump: P1  \nstatus: stopped"
    assert shown(row(1, "stopped"), row(2, "stopped")) == ["pump: P1 status: stopped", "pump: P2 status: stopped"]


@pytest.mark.covers("S4")
def test_what_is_not_quoted_is_listed_only_where_it_is_wanted():
    draft = structured_draft(compiled(), variables(), "en")
    assert "## Sources" not in draft["text"]
    assert draft["order"] == [1]


VOLTS = "How many volts has pump 17?"


@pytest.mark.covers("A13", "K14", "S7")
@pytest.mark.parametrize(
    ("marked", "question", "shown"),
    [
        (
            "Set a timeout:\n\n    get(url[1], 5)\n",
            "How do I set a timeout?",
            "> Set a timeout:\n> \n> ```\n> get(url[1], 5)\n> ```\n>\n> [1]",
        ),
        (
            "!!! note\n    A timeout is given in seconds:\n\n    ```python\n    get(url,\n        timeout=5)\n    ```",
            "How is a timeout given?",
            "> A timeout is given in seconds:\n> \n> ```python\n> get(url,\n>     timeout=5)\n> ```\n>\n> [1]",
        ),
        (".. warning::\n\n   The pump bites at 50 volts.", VOLTS, "> The pump bites at 50 volts. [1]"),
        (
            ".. list-table:: Pumps\n   :header-rows: 1\n   :widths: 2 1\n\n   * - Pump\n     - Volts\n   * - pump 17\n"
            "     - 50",
            VOLTS,
            "> * - Pump\n>   - Volts\n> * - pump 17\n>   - 50 [1]",
        ),
        (
            '.. csv-table:: Pumps\n   :header: "Pump", "Volts"\n\n   "pump 17", 50\n   "pump 18", 60',
            VOLTS,
            '> ```\n> .. csv-table:: Pumps\n>    :header: "Pump", "Volts"\n> \n>    "pump 17", 50\n>    "pump 18", 60\n'
            "> ```\n>\n> [1]",
        ),
        (".. code::\n\n   pump --volts 50", VOLTS, "> ```\n> pump --volts 50\n> ```\n>\n> [1]"),
    ],
)
def test_code_and_what_a_mark_sets_apart_are_shown_without_the_mark_and_how_it_is_set(marked, question, shown):
    evidence = [SourceResult(f"Requests are sent at once.\n\n{marked}\n", "a", "docs", "memory")]
    text = compiled().structured(variables(evidence, question), "en")
    assert text.endswith(f"{shown}\n> — a")
    assert ":header-rows:" not in text


@pytest.mark.covers("A13")
def test_of_a_long_list_table_the_row_is_quoted_with_all_its_cells():
    rows = "".join(
        f"   * - ``pump.speed_{n}``\n     - ``{n}0``\n     - turns of pump {n} in a minute\n" for n in range(1, 20)
    )
    table = f".. list-table::\n   :header-rows: 1\n\n   * - Key\n     - Default\n     - Meaning\n{rows}"
    text = compiled().structured(
        variables([SourceResult(table, "a", "docs", "memory")], "Default of pump.speed_7?"), "en"
    )
    assert "> * - ``pump.speed_7``\n>   - ``70``\n>   - turns of pump 7 in a minute [1]\n" in text
    assert "speed_12" not in text


@pytest.mark.covers("A14")
def test_a_place_that_several_quotes_share_is_named_below_the_last():
    text = "Pump 17 is serviced every 90 days." + " Valves are green and stand in the hall." * 9 + "\n\nPump 17 is red."
    shown = compiled().structured(variables([SourceResult(text, "a", "docs", "memory")], "What about pump 17?"), "en")
    assert shown.count("[1]") == 2
    assert shown.count("> — a") == 1


@pytest.mark.covers("A14")
def test_without_anything_that_is_not_quoted_there_is_no_listing():
    draft = structured_draft(compiled(), variables(EVIDENCE[:1]), "en")
    assert "## Sources" not in draft["text"]
    assert "---" not in draft["text"]
    assert draft["body"] == len(draft["text"])


@pytest.mark.covers("S7")
def test_the_built_in_answer_speaks_russian():
    text = compiled().structured(variables(message="Сколько живёт token?"), "ru")
    assert "## Источники" in text
    assert "релевантность" in text


@pytest.mark.covers("S4")
def test_without_quotes_only_the_results_are_listed():
    text = compiled().structured(variables(message="zebra"), "en")
    assert text.startswith("No single sentence of the evidence answers this.")


@pytest.mark.covers("S4")
def test_template_wins_over_provenance_template_which_wins_over_the_built_in_one():
    both = compiled(template="T", provenance_template="P")
    assert both.structured(variables(), "en") == "T"
    assert both.provenance(variables(), "en") == "P"
    one = compiled(provenance_template="P")
    assert one.structured(variables(), "en") == "P"
    assert compiled(template="T").provenance(variables(), "en").startswith("## Sources")


@pytest.mark.covers("fault 12", "fault 64")
@pytest.mark.parametrize("key", ["template", "provenance_template"])
@pytest.mark.parametrize(
    "template", ["{{ nothing_of_this_name }}", "{% if %}", "{{ results|no_such_filter }}", "{{ cycler.__init__ }}"]
)
def test_a_template_that_cannot_work_is_refused_when_it_is_compiled(key, template):
    with pytest.raises(TemplateInvalid) as caught:
        compiled(**{key: template})
    assert caught.value.problems[0].key == f"synthesis.{key}"


@pytest.mark.covers("S4")
def test_the_example_of_the_reference_document_renders():
    template = (
        "## Results for: {{ message }}\n{% for result in results %}\n### {{ result.source_name }} "
        '({{ "%.0f"|format(result.relevance * 100) }}% match)\n{{ result.text }}\n{% endfor %}\n'
        "{% if not results %}\nNo relevant results found in the knowledge base.\n{% endif %}"
    )
    text = compiled(template=template).structured(variables(), "en")
    assert "### docs (90% match)\nTokens expire after one hour." in text
    assert "No relevant results" not in text


FAILS_ON_TWO = "{{ results[0].metadata.title + 1 if results|length == 2 else 'fine' }}"


@pytest.mark.covers("S4")
@pytest.mark.parametrize("key", ["template", "provenance_template"])
def test_a_template_that_fails_on_one_turn_gives_way_to_the_built_in_one_with_a_note(key):
    draft = structured_draft(compiled(**{key: FAILS_ON_TWO}), variables(), "en", listed=True)
    assert "## Sources" in draft["text"]
    assert len(draft["notes"]) == 1
    assert f"synthesis.{key}" in draft["notes"][0]
    fine = structured_draft(compiled(**{key: FAILS_ON_TWO}), variables(EVIDENCE[:1]), "en")
    assert (fine["text"], fine["notes"]) == ("fine", [])


@pytest.mark.covers("fault 26")
def test_a_label_that_a_template_makes_up_is_removed():
    draft = structured_draft(compiled(template="Yes [1] no [9]."), variables(), "en")
    assert (draft["text"], draft["removed"]) == ("Yes [1] no.", [9])


@pytest.mark.covers("fault 29")
def test_what_ends_a_thought_in_the_evidence_takes_nothing_from_the_answer_by_a_template():
    evidence = [SourceResult("A reply of this model ends its thought by </think>.", "a", "docs", "memory")]
    draft = structured_draft(compiled(template="Found [1]: {{ results[0].text }}"), variables(evidence), "en")
    assert draft["text"] == "Found [1]: A reply of this model ends its thought by </think>."


@pytest.mark.covers("fault 8")
def test_template_syntax_in_evidence_and_message_is_not_rendered():
    evidence = [SourceResult("Tokens expire {{ 7 * 7 }} {% raw %} often.", "a", "docs", "memory")]
    for templates in (compiled(), compiled(template="{{ message }} {{ results[0].text }}")):
        draft = structured_draft(templates, variables(evidence, "tokens expire {{ 6 * 6 }}"), "en")
        assert "{{ 7 * 7 }} {% raw %}" in draft["text"]
        assert "49" not in draft["text"]
        assert "36" not in draft["text"]


@pytest.mark.covers("S8")
@pytest.mark.parametrize(
    ("language", "opening", "note"),
    [
        ("en", "The evidence may not answer this question. What comes closest:\n\n> Tokens", "mentions Peru, moon."),
        ("ru", "Возможно, в найденных материалах нет ответа на этот вопрос. Ближе всего:\n\n> Tokens", "Peru, moon."),
    ],
)
def test_an_answer_that_may_be_none_says_so_in_its_text_and_in_a_note(language, opening, note):
    draft = structured_draft(compiled(), variables(), language, ranking=doubted(["Peru", "moon"]))
    assert draft["text"].startswith(opening)
    assert draft["outcome"] == "answered"
    [told] = draft["notes"]
    assert told.endswith(note)


@pytest.mark.covers("S8")
def test_a_doubt_without_missing_words_does_not_say_that_words_are_missing_and_names_at_most_five_else():
    [plain] = structured_draft(compiled(), variables(), "en", ranking=doubted([]))["notes"]
    assert plain.endswith("no passage that was found is sure to be about it.")
    [many] = structured_draft(compiled(), variables(), "en", ranking=doubted(list("abcdefg")))["notes"]
    assert many.endswith("mentions a, b, c, d, e.")


@pytest.mark.covers("S8")
def test_a_template_of_the_users_is_left_as_it_is_and_the_note_tells_the_doubt():
    draft = structured_draft(compiled(template="T"), variables(), "en", ranking=doubted(["Peru"]))
    assert draft["text"] == "T"
    assert "Peru" in draft["notes"][0]
    failing = structured_draft(compiled(template=FAILS_ON_TWO), variables(), "en", ranking=doubted(["Peru"]))
    assert [("Peru" in note, "synthesis.template" in note) for note in failing["notes"]] == [
        (True, False),
        (False, True),
    ]


@pytest.mark.covers("T6")
def test_the_reply_to_small_talk_carries_no_doubt():
    draft = structured_draft(compiled(), variables(), "en", opening="Hello!", ranking=doubted(["Peru"]))
    assert draft["text"].startswith("Hello!")
    assert draft["notes"] == []
