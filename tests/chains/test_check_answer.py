"""The checks of an answer against its evidence, as a table (V1, limits L15)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundgraph.answers.answer_gate import AnswerGate
from groundgraph.answers.check_support import check_names, check_support
from groundgraph.answers.citations import MAX_FLAGS, CheckedAnswer, claims_of
from groundgraph.core.evidence import SourceResult
from groundgraph.core.turn_values import EMPTY_DRAFT
from groundgraph.nodes.check_citations import CHECK_OF, check_answer, verdict_of
from groundgraph.nodes.second_opinion import check_entailment
from groundgraph.prompts import Prompts
from groundgraph.report.words import Words
from groundgraph.settings.answers import CitationCheckSettings
from groundgraph.text.quantities import quantities

pytestmark = pytest.mark.covers("V1")

TOKENS = SourceResult(
    "Access tokens expire after 3,600 seconds, that is one hour. The limit was raised on 5 March 2024 by the OAuth "
    "Working Group. A client may ask for up to 25 scopes; error invalid_grant has the code E-1042.",
    "1",
    "docs",
    "memory",
    1.0,
    {"title": "Token lifetimes", "section": "RFC 6749 > Tokens", "url": "https://docs.example/tokens", "start": 1000},
)
PRICES = SourceResult(
    "The basic plan costs $12.50 a month for teams of 2–3 people; storage is 1.5 TB. Revenue rose 7% to 4.2 million "
    "euros in 2023. “Payment is due within fourteen days,” says the contract of Acme Corporation.",
    "2",
    "docs",
    "memory",
)
RUSSIAN = SourceResult(
    "Токен доступа действует 3600 секунд. Договор подписан 12 апреля 2021 г. в Нижнем Новгороде. Стоимость — 1 500 "
    "рублей за три месяца. Компания «Ромашка» обязуется вернуть деньги в течение десяти дней.",
    "3",
    "docs",
    "memory",
)
EVIDENCE = [TOKENS, PRICES, RUSSIAN]
QUESTION = "How long do tokens live, what does Widget Deluxe cost, и что говорит Иванов?"

AGREES = [
    "Access tokens expire after 3600 seconds [1].",
    "Access tokens expire after 1 hour [1].",
    "The limit was raised on 5 March 2024 [1].",
    "The limit was raised on March 5, 2024 [1].",
    "The limit was raised in March 2024 [1].",
    "The error invalid_grant has the code E1042 [1].",
    "RFC 6749 says how long access tokens live [1].",
    "The basic plan costs 12.50 dollars a month [2].",
    "Teams of two to three people pay for the basic plan [2].",
    "Revenue rose 7 percent to 4.2 million euros [2].",
    'The contract says "Payment is due within fourteen days" [2].',
    "Acme Corporation says that payment is due within 14 days [2].",
    "The plan is called “basic plan” and costs $12.50 a month [2].",
    "1. Tokens expire after 3600 seconds [1].\n2. The basic plan costs $12.50 [2].",
    "Two points: 1. Access tokens expire after an hour [1]. 2. The basic plan costs $12.50 a month [2].",
    "Tokens expire after 3600 seconds and the plan costs $12.50 a month [1, 2].",
    "Access tokens expire after 3600 seconds. [1] The basic plan costs $12.50 a month. [2]",
    "Access tokens expire after 3600 seconds [1]. Does that help you with your question about them?",
    "Here are the facts about tokens and plans:\n\n- Access tokens expire after 3600 seconds [1].",
    "Access tokens expire after 3600 seconds [1]. The evidence does not say how refresh tokens are stored.",
    "## Lifetimes of access tokens\n\nAccess tokens expire after 3600 seconds [1].",
    "Access tokens expire after 3600 seconds [1].\n\n```\nsleep(7200)\n```",
    "Widget Deluxe is not a plan; the basic plan costs $12.50 a month for teams [2].",
    "The OAuth WG raised the limit for access tokens [1].",
    "Токен доступа действует 3600 секунд [3].",
    "Токен доступа действует 1 час, то есть 3 600 секунд [3].",
    "Договор подписан 12.04.2021 в Нижнем Новгороде [3].",
    "Договор подписан 12 апреля 2021 года [3].",
    "Стоимость составляет 1500 руб. за 3 месяца [3].",
    "Стоимость за три месяца: 1,5 тыс. рублей [3].",
    "Компания обязуется «вернуть деньги в течение десяти дней» [3].",
    "Компания «Ромашка» вернёт деньги в течение 10 дней [3].",
    "Токен доступа действует 3600 секунд [3]. В материалах не сказано, как его обновить.",
    "Иванов подписал договор с компанией «Ромашка» в Нижнем Новгороде [3].",
]
DISAGREES = [
    ("Access tokens expire after 7200 seconds [1].", "number_unsupported"),
    ("Access tokens expire after 3600 minutes [1].", "number_unsupported"),
    ("The limit was raised on 5 May 2024 [1].", "number_unsupported"),
    ("The error invalid_grant has the code E-1043 [1].", "number_unsupported"),
    ("The basic plan costs $13.50 a month [2].", "number_unsupported"),
    ("The basic plan is for teams of 3-3 people [2].", "number_unsupported"),
    ("Access tokens expire after 3600 seconds [2].", "number_unsupported"),
    ("The contract says “payment is due within fifteen days” [2].", "quote_not_found"),
    ("The contract says “payment is due within fourteen days” [1].", "quote_not_found"),
    ("Access tokens expire after an hour, says Tim Berners-Lee [1].", "name_unsupported"),
    ("Access tokens expire after an hour in Kubernetes [1].", "name_unsupported"),
    ("The plan of the IBM group costs $12.50 a month [2].", "name_unsupported"),
    ("Access tokens expire after an hour [1]. Refresh tokens are stored in a database.", "uncited"),
    ("Access tokens expire after an hour [1].\n\n## Where\nRefresh tokens are stored in a database.", "uncited"),
    ("Refresh tokens are stored in a database.", "no_citation"),
    ("```bash\nrm -rf /\n```", "no_citation"),
    ("Elephants drink eighty litres of muddy water every single day [1].", "low_support"),
    ("Access tokens expire after 3600 seconds [1][9].", "unresolved_label"),
    ("Access tokens expire after 3600 seconds 【7】.", "unresolved_label"),
    ("Access tokens expire after 3600 seconds [0].", "unresolved_label"),
    ("3600 seconds [9].", "no_citation"),
    ("Access tokens ![x](https://evil.example/p?q=1) expire after an hour [1].", "link_removed"),
    ("Access tokens expire after an hour, see [more](https://evil.example) [1].", "link_removed"),
    ("Токен доступа действует 7200 секунд [3].", "number_unsupported"),
    ("Договор подписан 12 мая 2021 года [3].", "number_unsupported"),
    ("Стоимость — 1500 рублей за пять месяцев [3].", "number_unsupported"),
    ("Компания обязуется «вернуть деньги в течение одного дня» [3].", "quote_not_found"),
    ("Договор подписан компанией «Ромашка» и Газпромом [3].", "name_unsupported"),
    ("Договор подписан в Нижнем Новгороде [3]. Токены хранятся в базе данных сервера.", "uncited"),
    ("Слоны выпивают восемьдесят литров мутной воды каждый божий день [3].", "low_support"),
]


# Of the details as records hold them.
OWN_WORDS = {"evidence", "does", "neither", "refers", "leads", "cites", "holds", "say", "by", "model"}


def flags(text: str, settings: CitationCheckSettings | None = None, finish: str = "stop", **options):
    gate = AnswerGate(EVIDENCE, len(EVIDENCE))
    written = gate.feed(text, final=True)
    order = list(dict.fromkeys([*gate.order, 1, 2, 3]))
    answer = CheckedAnswer(written, QUESTION, {n: EVIDENCE[at - 1] for n, at in enumerate(order, 1)}, **options)
    draft = {**EMPTY_DRAFT, "finish": finish, "removed": gate.removed, "removed_links": gate.removed_links}
    return check_answer(answer, draft, settings or CitationCheckSettings(), require_citations=True)


@pytest.mark.parametrize("text", AGREES)
def test_what_agrees_with_its_evidence_is_not_flagged(text):
    assert flags(text)[0] == []


def test_a_capital_makes_no_name_where_all_nouns_have_one():
    german = "Die Tokens laufen nach einer Stunde ab, dann ist ein Ersatz im Lager der {} nötig [1]."
    kinds = {
        name: [flag["detail"] for flag in flags(german.format(name))[0] if flag["kind"] == "name_unsupported"]
        for name in ("Firma", "NATO")
    }
    assert kinds["Firma"] == []
    assert [detail.split()[0] for detail in kinds["NATO"]] == ["NATO"]


FOUNDED = "Anna Berg founded Nordwerk in 2019. The head office is in Linz. Berg is the director. Open Monday to Friday."


@pytest.mark.parametrize(
    ("text", "question", "names"),
    [
        # Most of the words of a short sentence have a capital, as in a title.
        ("Peter Maier founded Nordwerk [1].", "Who founded Nordwerk?", ["Peter Maier"]),
        ("Peter Maier founded Nordwerk.", "Who founded Nordwerk?", ["Peter Maier"]),
        ("Nordwerk was founded by Peter Maier in Linz [1].", "Who founded Nordwerk?", ["Peter Maier"]),
        ("It was Peter Maier [1].", "Who founded Nordwerk?", ["Peter Maier"]),
        ("It was founded by M. Maier, or A. Berg, of Nordwerk [1].", "Who founded Nordwerk?", ["Maier"]),
        ("Иван Петров [1].", "Кто основал Nordwerk?", ["Иван Петров"]),
        ("Open Monday to Saturday [1]", "When?", ["Saturday"]),
        # The first word has a capital in any case.
        ("Maier founded Nordwerk [1].", "Who founded Nordwerk?", ["Maier"]),
        ("Maier is the director [1].", "Who is the director?", ["Maier"]),
        ("Vienna [1].", "Where is the head office?", ["Vienna"]),
        ("Linz [1].", "Where is the head office?", []),
        ("Anna Berg founded Nordwerk [1].", "Who founded Nordwerk?", []),
        ("Nordwerk was founded by Anna Berg [1].", "Who founded Nordwerk?", []),
        ("Additionally, Anna Berg founded Nordwerk [1].", "Who founded Nordwerk?", []),
        ("Certainly!", "Where is the head office?", []),
        ("Yes [1].", "Did Anna Berg found Nordwerk?", []),
        ("# Founders, Offices, Directors", "Who founded Nordwerk?", []),
        ("Founders, Offices, Directors\n\nAnna Berg founded Nordwerk [1].", "Who founded Nordwerk?", []),
    ],
)
def test_a_name_is_looked_for_in_short_sentences_and_at_their_beginning(text, question, names):
    answer = CheckedAnswer(text, question, {1: SourceResult(FOUNDED, "1", "docs", "memory")})
    assert [flag["detail"].partition(" stands")[0] for flag in check_names(answer)] == names


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("The car drives 120 kilometres per hour [1].", "The car drives 120 km/h."),
        ("The warranty is two years [1].", "The warranty is 24 months."),
    ],
)
def test_units_are_no_words_that_support_lacks(text, content):
    answer = CheckedAnswer(text, "How?", {1: SourceResult(content, "1", "docs", "memory")})
    assert check_support(answer) == []


def test_the_nouns_of_a_short_sentence_are_none_where_the_question_tells_its_language():
    text = "Token in Quellen gespeichert [1]."
    for question, flagged in (("Wie lange ist ein Token gültig?", False), ("How long does a token live?", True)):
        answer = CheckedAnswer(text, question, {1: EVIDENCE[0]})
        kinds = [flag["kind"] for flag in check_names(answer)]
        assert ("name_unsupported" in kinds) is flagged


@pytest.mark.covers("A22")
@pytest.mark.parametrize(
    "text",
    [
        "The evidence does not mention how tokens are stored.",
        "В материалах не указано, как хранятся токены.",
        "Die Quellen sagen nicht, wie Tokens gespeichert werden; dazu wurde nichts, auch keine Angabe, gefunden.",
        "Les sources ne précisent pas comment les jetons sont conservés.",
        "Las fuentes no especifican cómo se guardan los tokens.",
    ],
)
def test_a_sentence_that_says_what_is_missing_cites_nothing_in_no_language(text):
    cited = "Access tokens expire after an hour [1]."
    assert "uncited" not in [flag["kind"] for flag in flags(f"{cited} {text}")[0]]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Let me know if you need anything else about it!", []),
        ("Feel free to ask if you have further questions.", []),
        ("If you have any other questions, just ask the team.", []),
        ("Wenn Sie weitere Fragen haben, melden Sie sich gerne.", []),
        ("Lassen Sie mich wissen, wenn Sie weitere Informationen benötigen.", []),
        ("N'hésitez pas à me poser d'autres questions.", []),
        ("Let me know. The northern warehouse ships pumps.", ["uncited", "low_support"]),
        ("If you have two questions pending, the portal rejects others.", ["uncited", "low_support"]),
    ],
)
def test_what_only_takes_leave_of_the_reader_needs_no_evidence(text, kinds):
    found = flags(f"Access tokens expire after an hour [1]. {text}")[0]
    assert [flag["kind"] for flag in found if flag["kind"] in ("uncited", "low_support")] == kinds


@pytest.mark.covers("fault 26", "fault 27", "fault 28", "fault 57")
@pytest.mark.parametrize(("text", "kind"), DISAGREES)
def test_what_does_not_agree_is_flagged_as_such(text, kind):
    found, _ = flags(text)
    assert kind in [flag["kind"] for flag in found]
    assert all(flag["detail"] and set(flag) == {"kind", "sentence", "detail"} for flag in found)


@pytest.mark.parametrize("text", [text for text, _ in DISAGREES])
def test_a_finding_is_told_in_russian_with_what_it_is_about(text):
    claims = claims_of(text)
    judged = check_entailment(claims, [0.1] * len(claims), "НЛИ")
    russian = Words.of(Prompts(), "ru")
    for flag in [*flags(text)[0], *judged]:
        told = russian.detail(flag)
        assert not set(re.findall(r"[a-z]+", told)) & OWN_WORDS, told
        assert russian.named("finding", flag["kind"]) != flag["kind"]
    for kind in ("truncated", "incomplete", "refusal", "no_citation"):
        assert not re.search("[a-z]", russian.detail({"kind": kind, "sentence": "", "detail": "the model failed"}))


@pytest.mark.covers("F21")
@pytest.mark.parametrize(
    ("text", "english", "russian"),
    [
        (
            "Access tokens expire after 77 seconds, says Karl Meier of the plan office [2].",
            "77 seconds does not stand in the evidence",
            "77 seconds: в материалах нет",
        ),
        (
            "Elephants drink muddy water 3600 seconds, says Karl [1].",
            "3600 seconds does not stand in the evidence near what is said of it",
            "3600 seconds: в материалах нет рядом с тем, о чём здесь сказано",
        ),
    ],
)
def test_of_a_number_that_stands_elsewhere_it_is_not_said_that_it_does_not_stand_there(text, english, russian):
    [flag] = [flag for flag in flags(text)[0] if flag["kind"] == "number_unsupported"]
    assert (flag["detail"], Words.of(Prompts(), "ru").detail(flag)) == (english, russian)


@pytest.mark.parametrize(("text", "kind"), DISAGREES)
def test_a_check_that_is_off_finds_nothing(text, kind):
    off = CitationCheckSettings.model_validate({CHECK_OF.get(kind, kind): "off"})
    assert kind not in [flag["kind"] for flag in flags(text, off)[0]]


@pytest.mark.covers("fault 28")
def test_the_number_of_the_question_is_no_evidence():
    answer = CheckedAnswer("Yes, it is 500 dollars [1].", "Is it 500 dollars?", {1: PRICES})
    found, _ = check_answer(answer, {**EMPTY_DRAFT, "finish": "stop"}, CitationCheckSettings(), require_citations=True)
    assert "number_unsupported" in [flag["kind"] for flag in found]


def test_a_quotation_has_offsets_into_the_source():
    _, [quote] = flags("The document says “expire after 3,600 seconds, that is one hour” [1].")
    assert quote["label"] == 1
    assert quote["text"] == TOKENS.content[quote["start"] - 1000 : quote["end"] - 1000]
    assert quote["text"].startswith("expire after 3,600")


@pytest.mark.covers("S3")
def test_what_is_marked_as_general_knowledge_is_not_counted_as_a_fault():
    text = "Access tokens expire after an hour [1]. General knowledge: Kerberos tickets live 10 hours in Windows."
    assert {flag["kind"] for flag in flags(text)[0]} >= {"uncited", "number_unsupported"}
    assert flags(text, general=("general knowledge",))[0] == []


@pytest.mark.parametrize("finish", ["length", "error", "refusal"])
def test_an_answer_that_did_not_end_by_itself_is_not_asked_for_citations(finish):
    assert "no_citation" not in [
        flag["kind"] for flag in flags("Refresh tokens are stored in a database.", finish=finish)[0]
    ]


def test_the_flags_of_a_long_answer_are_bounded():
    assert len(flags("Tokens live 77 years and 88 months in Narnia. " * 100)[0]) == MAX_FLAGS


def test_many_findings_of_one_kind_do_not_hide_those_of_another():
    found, _ = flags("Clients may ask for up to 99 scopes [1]. All of it holds [4-90].")
    assert len(found) <= MAX_FLAGS
    assert {"unresolved_label", "number_unsupported"} <= {flag["kind"] for flag in found}
    assert verdict_of(found, CitationCheckSettings.model_validate({"numbers": "refuse"}), repaired=False) == "refuse"


@pytest.mark.parametrize(
    ("spelled", "value"),
    [
        ("twenty-five", 25),
        ("one thousand five hundred", 1500),
        ("three thousand six hundred", 3600),
        ("two hundred", 200),
        ("a hundred", 100),
        ("two million", 2_000_000),
        ("две тысячи", 2000),
        ("тридцать пять", 35),
    ],
)
def test_a_number_spelled_in_several_words_is_one(spelled, value):
    assert [word.values for word in quantities(f"The limit is {spelled}, now").words] == [{float(value)}]


def test_numbers_that_follow_each_other_stay_apart():
    assert [word.values for word in quantities("Two three four").words] == [{2.0}, {3.0}, {4.0}]
    assert quantities("thousands of users, one of them").words == ()


@pytest.mark.parametrize(
    "text",
    [
        "- Scopes: 25 [1]",
        "| Raised | 2024-03-05 [1] |",
        "It takes 1.5 TB [2].",
        "Access tokens expire after one hour [1].\n\n```python\nfor wibble in range(77):\n    frobnicate(wibble)\n```",
    ],
)
def test_terse_lists_tables_units_and_blocks_of_code_raise_no_false_alarm(text):
    assert flags(text)[0] == []


@pytest.mark.parametrize(
    ("policies", "kinds", "repaired", "verdict"),
    [
        ({}, ["number_unsupported"], False, "pass"),
        ({"numbers": "repair"}, ["number_unsupported"], False, "repair"),
        ({"numbers": "repair"}, ["number_unsupported"], True, "pass"),
        ({"numbers": "repair"}, ["name_unsupported", "truncated"], False, "pass"),
        ({"numbers": "refuse"}, ["number_unsupported"], False, "refuse"),
        ({"numbers": "repair", "labels": "refuse"}, ["number_unsupported", "unresolved_label"], False, "refuse"),
        ({"numbers": "refuse"}, [], False, "pass"),
    ],
)
def test_the_strictest_policy_of_what_was_found_holds(policies, kinds, repaired, verdict):
    found = [{"kind": kind, "sentence": "", "detail": ""} for kind in kinds]
    assert verdict_of(found, CitationCheckSettings.model_validate(policies), repaired=repaired) == verdict


@pytest.mark.covers("fault 2")
@pytest.mark.parametrize(
    "unit",
    [
        *("Tokens live 7 days “or so they say” [1]. ", "Tokens live and live ", "7 ", "“a b c” ", "A. "),
        *("1. x 2. y ", "[1]"),
        *("Name Another ", '"', "« ", "3-4 ", "5 May ", "not a b c ", "two ", "a1b2 "),
    ],
)
def test_a_long_answer_is_checked(unit):
    assert len(flags(unit * (20_000 // len(unit)))[0]) <= MAX_FLAGS


PIECES = st.sampled_from(
    [
        *("Access tokens expire after ", "3600", "5 March 2024", "“due within fourteen days”", "[1]", "[2, 3]", ". "),
        *("\n\n", "1. ", "Acme ", "`code 7`", "12.50 $", "[9]", "«вернуть деньги»", "-", "…", "Токен ", "10:30"),
        *("👩\u200d💻", "\u0301", "1,500.5.3"),
    ]
)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_any_text_is_checked_and_every_found_quotation_is_verbatim(text):
    found, quotes = flags(text)
    assert {flag["kind"] for flag in found} <= {*CHECK_OF, "uncited"}
    for quote in quotes:
        base = 1000 if "Access" in quote["text"] or quote["start"] >= 1000 else 0
        contents = [result.content[quote["start"] - base : quote["end"] - base] for result in EVIDENCE]
        assert quote["text"] in contents
