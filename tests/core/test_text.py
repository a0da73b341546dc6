"""Words, stems and sentences of any Unicode text (R3, I5, S7)."""

from __future__ import annotations

import threading
import unicodedata

import pytest
from growth import cpu_seconds, growth
from hypothesis import example, given
from hypothesis import strategies as st

from groundgraph.text.words import (
    LANGUAGES,
    detect_language,
    fold,
    language_data,
    normalized,
    query_stems,
    sentences,
    spelled_forms,
    stem,
    stems,
    stop_words,
    words,
)

ANY = st.text(st.characters())  # lone surrogates among them
MARKED = st.lists(
    st.one_of(
        st.sampled_from('aeoßİıſеёЁий漢한か. \n!?"»)'),
        st.characters(min_codepoint=0x300, max_codepoint=0x36F),
    )
).map("".join)
PROSE = st.lists(
    st.sampled_from(
        ["Dr. ", "e.g. ", "A. ", "One", " two", ".", "...", "!", "?", " ", "\n", "\n\n", "- ", "1. ", "т.е. "]
    )
).map("".join)


@given(st.one_of(ANY, MARKED))
@example("ё\u0308\u0308")
@example("е\u0323\u0308")
def test_folding_twice_changes_nothing(text):
    assert fold(fold(text)) == fold(text)


@given(st.one_of(ANY, MARKED))
def test_folding_ignores_case_and_normal_form_of_what_is_typed(text):
    assert fold(unicodedata.normalize("NFD", text)) == fold(unicodedata.normalize("NFC", text))


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("ЁЛКА", "елка"),
        ("е\u0308лка", "елка"),
        ("STRASSE straße", "strasse strasse"),
        ("ﬁne ①", "fine 1"),
        ("İstanbul", "istanbul"),
    ],
)
def test_folding_examples(text, folded):
    assert fold(text) == folded


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC"])
@pytest.mark.parametrize(
    "said", ["Ça va très bien, й и ё. ", "がぎぐ\u3099", "한국어\u1112\u1161\u11ab", "e\u0301", "…"]
)
@pytest.mark.parametrize("before", ["", "a", "ab "])
def test_a_long_text_has_the_normal_form_that_it_has_as_a_whole(form, said, before):
    text = before + said * 500
    assert normalized(form, text) == unicodedata.normalize(form, text)


@pytest.mark.parametrize("marks", ["\u0301\u0316", "\u0316", "…"])
@pytest.mark.covers("L20")
def test_a_long_run_of_marks_is_folded_in_linear_time(marks):
    assert growth(fold, lambda size: "a" + "\u0301" * (size // 2) + marks * (size // 2), (20_000, 80_000)) == ""


def test_an_abbreviation_in_the_plural_has_the_stem_of_one():
    assert stems("Many CPUs and GPUs, one CPU") == [*stems("Many CPU and GPU"), *stems("one CPU")]
    assert stems("the status of the Us") == stems("status of Us")


@given(st.one_of(ANY, MARKED))
def test_words_and_stems_never_raise_and_hold_no_space(text):
    found = list(words(text))
    assert all(word and not any(character.isspace() for character in word) for word in found)
    assert all(stems(text))
    assert len(query_stems(text)) == len(set(query_stems(text)))
    assert bool(query_stems(text)) == bool(found)
    assert detect_language(text) in LANGUAGES


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The refund-policy, v2.", ["the", "refund", "policy", "v2"]),
        ("漢字仮名 ok", ["漢字", "字仮", "仮名", "ok"]),
        ("x漢y", ["x", "漢", "y"]),
        ("на́слышан", ["наслышан"]),
        ("", []),
    ],
)
def test_words_examples(text, expected):
    assert list(words(text)) == expected


def test_stems_join_the_forms_of_a_word_and_leave_stop_words_out():
    assert stems("The policies of a policy") == [stem("policy")] * 2
    assert set(stems("возврат возврата возвратом")) == {"возврат"}
    assert len(set(stems("заявка заявки заявок"))) == len(set(stems("участок участка"))) == 1
    assert stems("и возврат, и оплата") == stems("возврат оплата")


def test_forms_that_no_rule_makes_of_a_word_have_its_stem():
    assert set(stems("wrote, written, writes")) == {stem("write")}
    assert set(stems("Wer ruft die Kinder? Das Kind rief.")) == set(stems("rufen Kind"))
    assert set(stems("пять дней, один день, люди, человек")) == {*stems("пять один"), stem("день"), stem("человек")}
    assert stem("founded") != stem("find")
    # With the endings of its language: a guide ("Führer") drives nothing.
    assert set(stems("verlorenen verlorener verlieren")) == {stem("verlieren")}
    assert stem("fuhrer") != stem("fuhr") == stem("fahren")
    assert spelled_forms("bought") == ("bought", "buy")
    assert spelled_forms("pump") == ("pump",)


@pytest.mark.parametrize("script", ["LATIN", "CYRILLIC"])
def test_no_form_is_one_of_two_words(script):
    like = [one for one in LANGUAGES if language_data(one, "script") == script]
    rows = [fold(row).split() for one in like for row in language_data(one, "irregular")]
    held: dict[str, str] = {}
    for word, *forms in rows:
        assert forms, word
        assert {held.setdefault(form, word) for form in (word, *forms)} == {word}
        # What is as common and means nothing is no form of what does.
        assert stop_words().isdisjoint((word, *forms)), word


def test_a_question_of_stop_words_only_keeps_them():
    assert stems("to be or not to be") == []
    assert query_stems("to be or not to be") == ["to", "be", "or", "not"]


def test_a_letter_of_one_language_alone_tells_which_words_mean_nothing():
    assert query_stems("¿Y de una perra?") == ["perra"]
    assert query_stems("¿Paga la clínica los cursos?") == stems("paga clinica cursos")
    assert query_stems("Who is Señora Muñoz of Los Angeles?") == [*map(stem, ["senora", "munoz", "los", "angeles"])]


def test_stop_words_are_folded_and_there_are_some_in_each_language():
    for language in LANGUAGES:
        assert len(language_data(language, "stop_words")) > 20
    assert {"the", "и"} <= stop_words()
    assert all(fold(word) == word for word in stop_words())


def test_stems_are_the_same_in_every_thread():
    text = " ".join(f"policies{n} возвраты{n}" for n in range(200))
    expected = stems(text)
    found = []
    threads = [threading.Thread(target=lambda: found.append(stems(text))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 8


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What is it?", "en"),
        ("Что это?", "ru"),
        ("Что такое OAuth?", "ru"),
        ("OAuth 2.0 — это", "en"),
        ("שלום", "en"),
        ("Dazu steht in den Quellen nichts.", "de"),
        ("Combien coûte le repas ?", "fr"),
        ("Was macht dpkg --purge?", "de"),
        ("No commits parsed", "en"),
        ("MIT license of AI in CI", "en"),
    ],
)
def test_language_by_script_and_small_words(text, language):
    assert detect_language(text) == language


def test_a_text_without_letters_has_the_default_language():
    assert [detect_language("123 !"), detect_language("🙂", "ru")] == ["en", "ru"]


@given(st.one_of(ANY, MARKED, PROSE))
def test_sentences_are_ordered_inside_the_text_and_cover_every_character_but_space(text):
    spans = sentences(text)
    position = 0
    for start, end in spans:
        assert not text[position:start].strip()
        assert position <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        position = end
    assert not text[position:].strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("See Dr. Smith. He knows.", ["See Dr. Smith.", "He knows."]),
        ("J. R. Smith came. Then left.", ["J. R. Smith came.", "Then left."]),
        ("Use e.g. this. Done.", ["Use e.g. this.", "Done."]),
        ("A bundle (a.k.a. CA bundle) is used. Done.", ["A bundle (a.k.a. CA bundle) is used.", "Done."]),
        ("И т.д. Так было. Всё.", ["И т.д. Так было.", "Всё."]),
        ("He is from the U.S. The end.", ["He is from the U.S.", "The end."]),
        ("The U.S. Army built it. Done.", ["The U.S. Army built it.", "Done."]),
        ("Installed on Jan. 5 by Gen. Brown. Done.", ["Installed on Jan. 5 by Gen. Brown.", "Done."]),
        ("The answer is no. The pump runs. See No. 5.", ["The answer is no.", "The pump runs.", "See No. 5."]),
        ("Order part no. OB-77. Done.", ["Order part no. OB-77.", "Done."]),
        ("Am 3. März 2019 begann es. Ende.", ["Am 3. März 2019 begann es.", "Ende."]),
        ("Sie begann am 3. Okt. 2019 damit. Ende.", ["Sie begann am 3. Okt. 2019 damit.", "Ende."]),
        ("Es wurde im 19. Jahrhundert gebaut. Ende.", ["Es wurde im 19. Jahrhundert gebaut.", "Ende."]),
        ("Sie steht in Halle 4. Wartung ist nötig.", ["Sie steht in Halle 4.", "Wartung ist nötig."]),
        ("Es gibt davon nur 12. Sie laufen.", ["Es gibt davon nur 12.", "Sie laufen."]),
        ("We had only 12. Pumps are rare.", ["We had only 12.", "Pumps are rare."]),
        ("Sie kostet 5,1 Mio. Euro lt. Handbuch. Ende.", ["Sie kostet 5,1 Mio. Euro lt. Handbuch.", "Ende."]),
        ("Die Pumpe hat z. B. Ventile. Ende.", ["Die Pumpe hat z. B. Ventile.", "Ende."]),
        ("Sie hat z.B. Ventile (d. h. Klappen). Ende.", ["Sie hat z.B. Ventile (d. h. Klappen).", "Ende."]),
        ("Gemäß Abs. 3 der Fa. Huber. Ende.", ["Gemäß Abs. 3 der Fa. Huber.", "Ende."]),
        ("Насос, т. е. Машина, стоит. Всё.", ["Насос, т. е. Машина, стоит.", "Всё."]),
        ("Дом по ул. Ленина, д. 5. Всё.", ["Дом по ул. Ленина, д. 5.", "Всё."]),
        ("Так, т.е. сразу. Потом нет.", ["Так, т.е. сразу.", "Потом нет."]),
        ('He said "yes." Then left.', ['He said "yes."', "Then left."]),
        (
            "It says “shut … at once” here. Wait... and go… On.",
            ["It says “shut … at once” here.", "Wait...", "and go…", "On."],
        ),
        ("A list:\n- one\n- two", ["A list:", "- one", "- two"]),
        ("# Cats\nThey sleep\nlong.\n## No. 5\nOn.", ["# Cats", "They sleep\nlong.", "## No. 5", "On."]),
        (
            "> [!TIP]\n> It tries to\n> go on. Now.\n>\n> - an item",
            ["> [!TIP]", "> It tries to\n> go on.", "Now.", ">", "> - an item"],
        ),
        ("> **Note**\n> They stop\n> at once.", ["> **Note**", "> They stop\n> at once."]),
        ("これは文です。次の文。", ["これは文です。", "次の文。"]),
        ("a line\nwrapped. Next", ["a line\nwrapped.", "Next"]),
        ("  \n ", []),
    ],
)
def test_sentence_examples(text, expected):
    assert [text[start:end] for start, end in sentences(text)] == expected


@pytest.mark.covers("C1")
@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("cтaвкa", "ставка"),
        ("Mосква", "москва"),
        ("Windоws", "windows"),
        ("POCТ", "рост"),
        ("ëлка", "елка"),
        ("став\u00adка", "ставка"),
        ("ста\u2060в\ufeffка", "ставка"),
        ("of\ufb01ce", "office"),
        ("1\u0421", "1c"),
    ],
)
def test_spellings_that_look_the_same_are_one_word(written, plain):
    assert list(words(written)) == [plain]


@pytest.mark.covers("C1")
@pytest.mark.parametrize("word", ["игроzone", "2020г", "cop", "сор", "x5", "ёж7ы"])
def test_a_word_that_cannot_be_of_one_script_stays_as_it_is(word):
    assert list(words(word)) == [fold(word)]


@pytest.mark.covers("C1")
@given(st.text(st.sampled_from("abcehkmoptxyzавсенкмортхуж15 -"), max_size=20))
def test_one_script_is_reached_at_once(text):
    once = list(words(text))
    assert list(words(" ".join(once))) == once


@pytest.mark.covers("F3", "fault 81")
@pytest.mark.parametrize("run", [".", "!", "?!", "…", '."', "。.", "\n.", " .", "\n ", "\n\u00a0"])
def test_a_run_of_sentence_ends_is_read_at_once(run):
    text = "Contents " + run * (20_000 // len(run)) + "5"
    assert cpu_seconds(lambda: sentences(text)) < 0.5


@pytest.mark.parametrize("run", ["am 3. Mai ", "im 19. Haus ", "z. B. ", "U.S. Army ", "die 1. "])
def test_abbreviations_and_ordinals_are_read_in_a_time_that_grows_with_the_text(run):
    text = run * (60_000 // len(run))
    assert cpu_seconds(lambda: sentences(text)) < 1


@pytest.mark.covers("F3", "fault 81")
def test_the_leaders_of_a_contents_page_end_no_sentence():
    lines = ("Pumps" + "." * 60 + "5", "Valves ............ 7")
    text = "\n".join(lines)
    assert [text[start:end] for start, end in sentences(text)] == [lines[0] + "\nValves ............", "7"]
    text = "Pumps . . . . 5\nValves . . . . 7"
    assert [text[start:end] for start, end in sentences(text)] == ["Pumps . . . .", "5\nValves . . . .", "7"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use it. .NET is good.", ["Use it.", ".NET is good."]),
        ("Wait. . . What is it?", ["Wait. . .", "What is it?"]),
        ("Shut . . . at once. Next.", ["Shut . . . at once.", "Next."]),
        ("Done.\n\n. Next.", ["Done.", ".", "Next."]),
    ],
)
def test_marks_with_blanks_between_them_are_one_end_of_a_sentence(text, expected):
    assert [text[start:end] for start, end in sentences(text)] == expected


@pytest.mark.parametrize(
    ("text", "language", "content"),
    [
        ("Wie hoch ist die Summe der offenen Rechnungen?", "de", ["hoch", "summ", "offenen", "rechnungen"]),
        ("Quand est-ce que la cantine est ouverte ?", "fr", ["cantin", "ouvert"]),
        ("¿Cuándo abre la cantina y quién tiene la llave?", "es", ["abr", "cantina", "llave"]),
        ("How did he die in the war?", "en", ["die", "war"]),
        ("Et si j'ai une crevaison ?", "fr", ["crevaison"]),
        ("¿Y si la casa es de una mujer?", "es", ["casa", "mujer"]),
        ("s = c[t] + d[n]", "en", ["c", "n"]),
        ("MIT license", "en", ["mit", "licens"]),
        ("AI in CI", "en", ["ai", "ci"]),
        ("car insurance", "en", ["car", "insur"]),
        ("hotels in Los Angeles", "en", ["hotel", "los", "angel"]),
        ("hall C", "en", ["hall", "c"]),
    ],
)
def test_a_word_means_nothing_only_in_a_text_of_its_language(text: str, language: str, content: list[str]) -> None:
    assert (detect_language(text), stems(text)) == (language, content)


def test_what_is_ascii_in_its_compatible_form_is_brought_into_no_other(monkeypatch):
    forms = []

    def noted(form, text):
        forms.append(form)
        return unicodedata.normalize(form, text)

    monkeypatch.setattr("groundgraph.text.words.normalized", noted)
    assert [fold("… Ok"), fold("Ｐｕｍｐ ¹⁷")] == ["... ok", "pump 17"]
    assert forms == ["NFKC", "NFKC"]
