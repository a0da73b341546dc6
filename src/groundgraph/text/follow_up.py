"""What the words of a message tell by rule: the parts that ask, and whether it leans on the question before."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain, islice, pairwise, takewhile
from typing import Any

from groundgraph.text.words import (
    LANGUAGES,
    WORD,
    detect_language,
    fold,
    idf,
    language_data,
    query_stems,
    sentences,
    small_words_of,
    spoken_language,
    stem,
    stems,
    stop_words,
    told_language,
    words,
)

# Phrases by which people say what they mean, from the data files of all languages.


Phrase = tuple[str, ...]
Phrases = Mapping[str, list[Phrase]]
"""Phrases by their first word."""

# In a phrase, though not at its beginning: up to so many words of any kind.
GAP = "*"
GAP_WORDS = 3


def spoken_stems(message: str) -> list[str]:
    """The stems of all words of `message`, stop words among them, in order."""
    return [stem(word) for word in words(message)]


@cache
def cue_phrases(*path: str) -> tuple[Phrase, ...]:
    """The phrases that stand under `path` in the data files, for example `("scope", "broad")`, as stems."""
    found: set[Phrase] = set()
    for language in LANGUAGES:
        found |= {phrase for text in language_data(language, *path) if (phrase := as_phrase(text))}
    return tuple(sorted(found))


@cache
def language_words(*path: str) -> dict[str, Any]:
    """What stands under `path` in the data files of all languages: words in small letters, each with its value if the
    files give one."""
    found: dict[str, Any] = {}
    for language in LANGUAGES:
        section = language_data(language, *path)
        found |= section if isinstance(section, dict) else dict.fromkeys(section)
    return found


@cache
def asked_for(languages: Collection[str] = LANGUAGES) -> frozenset[str]:
    """The phrases of `languages` with which is asked for a number, a time, a name, what happens or what is meant."""
    kinds = chain.from_iterable(language_data(language, "asks_for").values() for language in languages)
    return frozenset(chain.from_iterable(kinds))


def asks_for_number(question: str) -> bool:
    """Whether `question` asks how many, how much or how large, which nothing answers but a number."""
    return says(spoken_stems(question), cue_phrases("asks_for", "number") + cue_phrases("asks_for_size"))


def asks_for_name_or_time(question: str) -> bool:
    """Whether `question` begins by asking who, where or when, perhaps behind a word such as "and", and for no number
    beside that."""
    return _begins(spoken_stems(without_connective(question)), _naming()) and not asks_for_number(question)


@cache
def _naming() -> Phrases:
    return _by_first_word(cue_phrases("asks_for", "name") + cue_phrases("asks_for", "time"))


def as_phrase(text: str) -> Phrase:
    """`text` as it is looked for: stems, and gaps where a `*` stands."""
    parts = ([GAP] if part == GAP else spoken_stems(part) for part in text.split())
    return tuple(stemmed for part in parts for stemmed in part)


def says(spoken: Sequence[str], phrases: Sequence[Phrase]) -> bool:
    """Whether one of `phrases` stands in `spoken`, the stems of a message."""
    return _holds(spoken, _by_first_word(phrases))


def _holds(spoken: Sequence[str], phrases: Phrases) -> bool:
    return any(_end(spoken, at, phrase) for at, word in enumerate(spoken) for phrase in phrases.get(word, ()))


def _by_first_word(said: Iterable[Phrase]) -> Phrases:
    phrases: dict[str, list[Phrase]] = {}
    for phrase in filter(None, dict.fromkeys(said)):
        phrases.setdefault(phrase[0], []).append(phrase)
    return phrases


def _end(spoken: Sequence[str], at: int, phrase: Phrase) -> int:
    """Where `phrase` ends in `spoken` when it stands there from `at` on; 0 when it does not."""
    if not phrase:
        return at
    if phrase[0] == GAP:
        ends = (_end(spoken, at + skipped, phrase[1:]) for skipped in range(GAP_WORDS + 1))
        return next(filter(None, ends), 0)
    return _end(spoken, at + 1, phrase[1:]) if at < len(spoken) and spoken[at] == phrase[0] else 0


# The parts of a message that ask something, without a model: what stands around a question must not dilute it.

# Of a message with fewer content words, what asks is a good share of the whole, which then finds all of it.
LONG_MESSAGE = 8
# A part with fewer content words says too little to be searched for by itself, unless it is a whole question.
LEAST_WORDS = 2
MAX_PARTS = 4
# Fewer content words around the only part that asks dilute nothing.
LEAST_AROUND = 3
# A question with as many content words needs no sentence before it, and none behind it that is not short.
LEAST_WHOLE = 3
# What leads to a question has at most so many clauses and words.
LEADING_CLAUSES, LEADING_WORDS = 8, 32
# So many sentences at each end of a message are looked at for what they ask.
MOST_SENTENCES = 200
# Of a name by which somebody is greeted or a message is signed.
NAME_WORDS = 3
_BETWEEN_CLAUSES = re.compile(r"[,;:](?=\s)|[()\n—–]")
# Letters with digits behind them, as they stand by themselves: in a path or a dotted name they say where, not what.
_CODE = re.compile(r"(?<![\w./\\:@#-])[^\W\d_]+[-_]?\d+(?![\w/\\]|[.:@-]\w)")
_WORD_START = re.compile(r"(?<!\w)\w")
_CLAUSE_END = re.compile(r"[,;:.!?()\n—–]")


@lru_cache(maxsize=1024)
def asked_parts(message: str) -> tuple[str, ...]:
    """The sentences and clauses of `message` that ask, as they stand there; none when it is one question and no more.

    A clause asks when it ends with a question mark or, in a message without one, begins with a word that asks. Two
    questions that are joined by a word such as "and" are two parts. One question in a short message is asked with all
    of it, but for what is said before and behind it only out of politeness.
    """
    plain = _plain(message)
    spans = _outermost(plain)
    parts = _asking_parts(spans, LEAST_WORDS)
    if coded := _code_parts(plain, parts):
        return coded
    telling = list(filter(_tells, dict.fromkeys(parts)))[:MAX_PARTS]
    around = len(query_stems(message)) - len(query_stems(" ".join(telling)))
    alone = len(spans) > 1 and _is_whole(parts) and parts == spans[-1:]
    if len(telling) > 1 or alone or (around >= LEAST_AROUND and _stands_out(parts, spans, message)):
        return tuple(telling)
    return () if plain == message else (plain,)


@lru_cache(maxsize=1024)
def questions_in(message: str) -> tuple[str, ...]:
    """Everything that `message` asks, though it says too little to be searched for by itself: "… and how much does it
    weigh?"."""
    return tuple(dict.fromkeys(_asking_parts(_outermost(_plain(message)), 1)))


@lru_cache(maxsize=256)
def _plain(message: str) -> str:
    """What `message` says beside courtesies and corrections."""
    return corrected(_without_courtesies(message))


def _outermost(message: str) -> list[str]:
    """The sentences of `message`, of very many the first and the last: a question stands before or behind what is
    pasted with it."""
    spans = sentences(message)
    if len(spans) > 2 * MOST_SENTENCES:
        spans = spans[:MOST_SENTENCES] + spans[-MOST_SENTENCES:]
    return [message[start:end] for start, end in spans]


def _asking_parts(spans: list[str], least: int) -> list[str]:
    """The clauses of the sentences `spans` that ask; of those that are joined each has `least` content words."""
    return [part for text in _asking(spans) for clause in _asking_clauses(text) for part in _joined(clause, least)]


def _code_parts(message: str, parts: Sequence[str]) -> tuple[str, ...]:
    """The clauses of `message` that hold a code, as one part, where nothing else is asked about: "can you help me?", or
    in a long message without a question, such as a log."""
    if not _CODE.search(message) or _asks_otherwise(message, parts):
        return ()
    clauses = (clause.strip(" ,;:\n") for span in sentences(message) for clause in _clauses(message[slice(*span)]))
    part = " ".join(list(filter(_CODE.search, dict.fromkeys(clauses)))[-MAX_PARTS:])
    return (part,) if part and part != message else ()


def _asks_otherwise(message: str, parts: Sequence[str]) -> bool:
    """Whether what asks among `parts` holds a code or asks about something, or in a short message nothing asks."""
    asks = " ".join(part for part in parts if part.endswith("?") or begins_asking(part))
    if not asks:
        return len(query_stems(message)) < LONG_MESSAGE
    return bool(_CODE.search(asks)) or not (_asks_of_code() | subjectless_stems()).issuperset(stems(asks))


def _clauses(sentence: str) -> list[str]:
    starts = [0, *map(re.Match.end, _BETWEEN_CLAUSES.finditer(sentence))]
    return [sentence[start:end] for start, end in zip(starts, [*starts[1:], len(sentence)], strict=True)]


def _without_courtesies(message: str) -> str:
    """`message` from its first words that say more than small talk does, or than that something is asked, to its last
    such sentence; all of it when there are none."""
    spans = sentences(message)
    saying = next((span for span in spans if not _is_courtesy(message[slice(*span)])), None)
    if saying is None:
        return message
    first, end = saying
    last = next(span[1] for span in reversed(spans) if not _is_courtesy(message[slice(*span)]))
    clauses = islice(_BETWEEN_CLAUSES.finditer(message, first, end), LEADING_CLAUSES)
    start = max((one.end() for one in clauses if _is_courtesy(message[first : one.end()])), default=first)
    start += _lead_in(message[start:end])
    return message[start:last].strip()


def _lead_in(sentence: str) -> int:
    """Where in `sentence` the words begin that ask, when those before only lead to them: "do you know when ..."; 0 when
    they do not, or nothing asks."""
    leading, openings = words(sentence)[:LEADING_WORDS], _openings_within(detect_language(sentence))
    starts = _word_starts(sentence)
    places = range(len(leading) if starts else 0)
    asks = next((at for at in places if _begins(leading[at:], openings)), 0)
    return starts[asks] if asks and _is_courtesy(sentence[: starts[asks]]) else 0


def _word_starts(text: str) -> list[int]:
    """Where the words of `text` begin; none where some are parted or joined as they are folded."""
    starts = [found.start() for found in _WORD_START.finditer(text)]
    return starts if len(starts) == len(words(text)) else []


def corrected(message: str) -> str:
    """What a short `message` says behind words that only correct what was said before, such as "no, I meant" or "not 18
    but", or before such at its end; all of it where there are none, or one such as the "no" of "No pump runs"."""
    starts, spoken = _word_starts(message), spoken_stems(message)
    if not starts or len(query_stems(message)) >= LONG_MESSAGE:
        return message
    kept = _behind_corrections(message, starts, spoken)
    said = _without_correction_behind(message, starts, spoken[kept:])
    return said[starts[kept] :] if kept else said


def _behind_corrections(message: str, starts: Sequence[int], spoken: Sequence[str]) -> int:
    """The place of the first word behind the phrases with which `message` begins; 0 where there are none."""
    at, kept = 0, 0
    while end := max((_end(spoken, at, phrase) for phrase in _corrections()), default=0):
        single, at = end - at == 1, end
        if at < len(spoken) and not (single and message[starts[at - 1] : starts[at]].strip()[-1:].isalnum()):
            kept = at
    return kept


def _without_correction_behind(message: str, starts: Sequence[int], spoken: Sequence[str]) -> str:
    """`message`, whose last words are `spoken`, without such a phrase of several words at its end: "9007, I mean"."""
    ends = [len(phrase) for phrase in _corrections() if tuple(spoken[-len(phrase) :]) == phrase]
    length = max((size for size in ends if 1 < size < len(spoken)), default=0)
    return message[: starts[-length]].rstrip(" ,;:") if length else message


@cache
def _corrections() -> tuple[Phrase, ...]:
    return cue_phrases("follow_up", "corrections")


def is_correction(message: str) -> bool:
    """Whether `message` corrects what was said before, and is no question by itself."""
    rest = corrected(message)
    return rest != message and not begins_asking(rest)


def _is_courtesy(text: str) -> bool:
    """Whether `text` has words, and none that says more than a greeting, perhaps with a name behind it, thanks, or a
    word such as "tell" or "wonder"."""
    spoken, said, known = words(text), stems(text), _courtesies() | _lead_ins()
    if text.endswith("?") and _begins(spoken, _openings_within(detect_language(text))):
        return tuple(spoken) in _lead_in_questions()
    if not said:
        # "Um" means something in German.
        return any(spoken) and (text.endswith("!") or not _lead_ins().isdisjoint(map(stem, spoken)))
    return known.issuperset(said) or (_begins(spoken, _before_names()) and known.issuperset(stems(_before_name(text))))


def _before_name(text: str) -> str:
    """`text` without the few words at its end that are written with a capital, as the name behind "Cheers," is."""
    found = list(WORD.finditer(text))
    name = list(takewhile(lambda one: one.group()[0].isupper(), reversed(found[1:])))
    short = 0 < len(name) <= NAME_WORDS and not text.rstrip().endswith("?")
    return text[: name[-1].start()] if short else text


@cache
def _lead_ins() -> frozenset[str]:
    said = stems(" ".join(language_words("small_talk", "acknowledgement")))
    return frozenset(map(stem, words(" ".join(language_words("lead_in", "words"))))).union(said)


@cache
def _lead_in_questions() -> frozenset[Phrase]:
    return frozenset(tuple(words(text)) for text in language_words("lead_in", "questions"))


@cache
def _openings_within(language: str) -> Phrases:
    """With what a question begins to which something leads."""
    return _by_first_word(tuple(words(text)) for text in language_data(language, "lead_in", "before"))


@cache
def _before_names() -> Phrases:
    paths = (("lead_in", "names"), *(("small_talk", kind) for kind in ("greeting", "farewell", "thanks")))
    return _by_first_word(tuple(words(text)) for path in paths for text in language_words(*path))


@cache
def _courtesies(languages: Collection[str] = LANGUAGES) -> frozenset[str]:
    """The stems of what is said out of politeness, and of words such as "show"."""
    paths = [("small_talk", kind) for kind in ("greeting", "farewell", "thanks", "fillers")] + [("follow_up", "empty")]
    return frozenset(
        stemmed
        for language in languages
        for path in paths
        for phrase in language_data(language, *path)
        for stemmed in stems(phrase)
    )


def _stands_out(parts: list[str], spans: list[str], message: str) -> bool:
    """Whether what asks need not be read with all that stands around it."""
    return len(query_stems(message)) >= LONG_MESSAGE or (len(spans) > 1 and _is_whole(parts))


def _is_whole(asking: list[str]) -> bool:
    """Whether only one part asks, and needs no other sentence: what is short behind a question can be what it is about,
    as in "How long does it last? (the blue one)"."""
    whole = len(asking) == 1 and asking[0].endswith("?") and len(query_stems(asking[0])) >= LEAST_WHOLE
    return whole and not is_leaning(asking[0])


def _tells(part: str) -> bool:
    """Whether `part` says enough to be searched for by itself: several content words, or one of a whole question."""
    own = len(stems(part))
    return own >= LEAST_WORDS or (own == 1 and part.endswith("?") and not is_leaning(part))


def question_of(message: str) -> str:
    """What `message` asks, without what stands around it: its parts, or all of it when it has none."""
    return " ".join(asked_parts(message)) or message


def _asking(texts: list[str]) -> list[str]:
    """Those of `texts` that end with a question mark, else those that begin with a word that asks, else all."""
    return [text for text in texts if text.endswith("?")] or [text for text in texts if begins_asking(text)] or texts


def _asking_clauses(sentence: str) -> list[str]:
    """A sentence from the clause that asks on, when much stands before that; where semicolons part it, each clause that
    asks.

    A clause that says little and leans on what stands before stays with it.
    """
    starts = [0, *map(re.Match.end, _BETWEEN_CLAUSES.finditer(sentence))]
    clauses = [clause.strip(" ,;:") for clause in _clauses(sentence)]
    if ";" in sentence:
        return [clause for clause in clauses if begins_asking(clause)] or [sentence]
    at = starts[_asking_one(clauses)]
    own = sentence[at:].strip()
    leans = len(query_stems(own)) <= LEAST_AROUND and is_leaning(own)
    return [sentence if leans or len(query_stems(sentence[:at])) < LEAST_AROUND else own]


def _asking_one(clauses: Sequence[str]) -> int:
    """The place of the first that begins with a word that asks and says something, else of the last that holds one."""
    asking = [at for at, clause in enumerate(clauses) if begins_asking(clause)]
    telling = [at for at in asking if len(stems(clauses[at])) >= LEAST_WORDS]
    holding = asking or [at for at, clause in enumerate(clauses) if _holds(spoken_stems(clause), _openings())]
    return (telling[:1] or holding[-1:] or [0])[0]


def begins_asking(clause: str) -> bool:
    """Whether it begins with a word that asks, perhaps behind one such as "in": "in which year"."""
    spoken = spoken_stems(clause)
    behind = spoken[1:] if next(iter(words(clause)), "") in stop_words() else []
    return _begins(spoken, _openings()) or _begins(behind, _openings())


def _begins(spoken: Sequence[str], phrases: Phrases) -> bool:
    """Whether the words begin with one of `phrases`."""
    near = phrases.get(spoken[0], ()) if spoken else ()
    return any(tuple(spoken[: len(phrase)]) == phrase for phrase in near)


def _joined(clause: str, least: int) -> Iterator[str]:
    """The questions that are joined in `clause`; `clause` when one has fewer than `least` content words."""
    spoken, stemmed, starts = words(clause), spoken_stems(clause), _word_starts(clause)
    cuts = [
        starts[at]
        for at in range(1, len(starts) - 1)
        if spoken[at] in _joints() and _begins(stemmed[at + 1 :], _openings())
    ]
    parts = [clause[start:end].strip() for start, end in zip([0, *cuts], [*cuts, len(clause)], strict=True)]
    if cuts and all(len(query_stems(part)) >= least for part in parts):
        yield from parts
    else:
        yield clause


@cache
def _openings() -> Phrases:
    """With what a clause begins that asks."""
    return _by_first_word(tuple(spoken_stems(phrase)) for phrase in chain(language_words("asks"), asked_for()))


@cache
def _joints() -> frozenset[str]:
    """Words that join two questions: the connectives of one word with which a follow-up begins."""
    return frozenset(
        phrase[0]
        for language in LANGUAGES
        for text in language_data(language, "follow_up", "connectives")
        if len(phrase := tuple(words(text))) == 1
    )


def is_follow_up(message: str) -> bool:
    """Whether `message` points back: its first question holds a pronoun that nothing before it explains, or begins with
    a connective, or has no content word of its own; or it has no verb, or corrects what was said.

    Shortness alone is no sign: "Who is Putin?" is a whole question.
    """
    asked = next(iter(asked_parts(message)), message)
    if not any(words(asked)):
        return False
    return is_leaning(_unexplained(asked)) or not own_words(asked) or is_correction(message) or is_elliptic(asked)


def is_leaning(question: str) -> bool:
    """Whether `question` begins with a connective, or holds a pronoun."""
    return _begins(words(question), _connectives()) or holds_pronoun(question)


def is_elliptic(question: str) -> bool:
    """Whether `question` asks for a noun and no more, as "in which boat?" does, for none at all, as "Which are open?",
    or says one word behind one for a time, as "¿Cuándo empieza?" does: what there is of it was said before."""
    spoken = words(question)
    if asks_alone(question):
        return True
    if tuple(spoken[:-1]) in {tuple(words(text)) for text in language_words("asks_for", "time")}:
        return True
    before = set(map(fold, language_words("computing", "belonging")))
    said = spoken[1:] if spoken[:1] and spoken[0] in before else spoken
    which = set(map(fold, language_words("computing", "which")))
    return len(said) == 2 and said[0] in which


def asks_alone(question: str) -> bool:
    """Whether `question` asks for some of what was named before and names it by no noun, as "Which are open?" and "Only
    the open ones" do."""
    return _alone().match(" ".join(words(question))) is not None


@cache
def _alone() -> re.Pattern[str]:
    patterns = (language_data(language, "computing", "alone") for language in LANGUAGES)
    return re.compile("|".join(filter(None, patterns)) or "(?!)")


def without_connective(message: str) -> str:
    """`message` without the words such as "what about" with which it leans on what was said before."""
    spoken, found = words(message), list(WORD.finditer(message))
    if len(spoken) != len(found):
        return message
    sizes = (len(one) for phrases in _connectives().values() for one in phrases if tuple(spoken[: len(one)]) == one)
    length = max(sizes, default=0)
    return message[found[length - 1].end() :] if length else message


def holds_pronoun(question: str) -> bool:
    """Whether a word of `question` stands for something said before."""
    # What begins a compound, as in "one-time password", points at nothing.
    parts = (part.strip("-") for part in question.split())
    # That of "sont-ils" stands last.
    alone = words(" ".join(part.rpartition("-")[2] for part in parts))
    return not _pronouns(spoken_language(question)).isdisjoint(alone) or any(
        _stands_alone(found) for found in _articles_in(question)
    )


def _articles_in(question: str) -> Iterator[re.Match[str]]:
    """The words of `question` that are articles or pronouns in its language, which writes nouns with a capital."""
    if told := language_data(detect_language(question), "follow_up", "articles"):
        yield from (found for found in WORD.finditer(question) if found.group().lower() in told)


def _stands_alone(article: re.Match[str]) -> bool:
    """Whether no noun stands behind it in its clause, and none before it to which it belongs. Where nothing is written
    with a capital, that is sure at the end of a clause only."""
    before, behind = article.string[: article.start()], _CLAUSE_END.split(article.string[article.end() :])[0]
    if before.rstrip()[-1:] in {",", ";"}:
        return False
    return not any(map(str.isupper, behind)) if before[:1].isupper() else not behind.strip()


def _unexplained(question: str) -> str:
    """`question` up to its first clause that names something to which pronouns behind it can point."""
    start, named = 0, set[str]()
    for found in _BETWEEN_CLAUSES.finditer(question):
        named.update(own_words(question[start : found.start()]))
        if len(named) >= LEAST_WORDS:
            return question[: found.start()]
        start = found.end()
    return question


def own_words(message: str) -> list[str]:
    """The stems of what `message` itself asks about: its content words without those that only say how it asks."""
    asking = stems_asking(message)
    return [stemmed for stemmed in stems(message) if stemmed not in asking]


def question_weight(asked: Sequence[str], df: Mapping[str, int], documents: int) -> float:
    """The idf of the stems of a question together, one that no text holds counted as one that a single text does.

    What no text holds and only says how it asks, as in "how often", does not count: no text need hold it.

    Args:
        asked: its distinct stems.
        df: how many texts hold each.
        documents: the number of texts.
    """
    return sum([idf(max(1, documents), max(1, df.get(stemmed, 0))) for stemmed in subject_of(asked, df)])


def subject_of(asked: Sequence[str], held: Collection[str]) -> Sequence[str]:
    """Those of the stems `asked` that are `held` or do not only say how it is asked; all when that leaves none."""
    asking = asking_stems(asked)
    return [stemmed for stemmed in asked if stemmed in held or stemmed not in asking] or asked


def standing_question(question: str, intent: Mapping[str, Any]) -> str:
    """What the turn asks, as a question that stands by itself and without chatter around it.

    It is the question as it was rewritten, else the message, or that behind what it leans on when it has no words of
    its own.

    Args:
        question: the message.
        intent: what is searched for.
    """
    asked = str(intent.get("rewritten") or question)
    queries = intent.get("text_queries") or [asked]
    leans = intent.get("mode") == "message" and not own_words(asked)
    return str(queries[0]) if leans else question_of(asked)


# What "3.4.1" is more than one word by.
_JOINED_NUMBER = re.compile(r"(?<=\d)[.,](?=\d)")
# With more content words a question says itself what it is about, though it points back: "what did Luther say of them?"
LEANING_WORDS = 2


def question_behind(message: str, intent: Mapping[str, Any]) -> str:
    """The question on which `message` leans, as it was searched for; empty where it leans on none, or has more than
    `LEANING_WORDS` content words of its own."""
    if len(own_words(_JOINED_NUMBER.sub("", message))) > LEANING_WORDS:
        return ""
    queries = intent.get("text_queries") or [message]
    joined = str(queries[0])
    leans = intent.get("mode") == "message" and message and joined != message and joined.endswith(message)
    return joined.removesuffix(message).strip() if leans else ""


def questions_behind(questions: Sequence[str]) -> list[str]:
    """Of the questions asked before, in order, those on which the next one may lean: the last, and as long as one leans
    itself, the one before it."""
    found: list[str] = []
    for question in reversed(questions):
        found.append(question)
        if not is_follow_up(question):
            break
    return found[::-1]


def contextualised(message: str, previous: str) -> str:
    """`message` behind the question that it leans on, as one query; `message` alone when it adds nothing to that."""
    if set(query_stems(previous)) <= set(query_stems(message)):
        return message
    return f"{previous} {message}"


@cache
def subjectless_stems(language: str = "") -> frozenset[str]:
    """The stems of phrases such as "how often", of words such as "it" and "more", which name no subject, and of what
    is said out of politeness, in `language` and in English, or in all; then with those of "how large" besides."""
    languages = tuple(sorted({language, "en"}.intersection(LANGUAGES))) if language else tuple(LANGUAGES)
    pronouns = chain.from_iterable(language_data(one, "follow_up", "pronouns") for one in languages)
    phrases = asked_for(languages).union(pronouns, () if language else language_words("asks_for_size"))
    return _courtesies(languages).union(stemmed for phrase in phrases for stemmed in stems(phrase))


@lru_cache(maxsize=1024)
def stems_asking(question: str) -> frozenset[str]:
    """The stems that only say how `question` asks, in its language where that is told: "passe" of French is "pass",
    which in English says what it asks."""
    asking = subjectless_stems(told_language(question) or "")
    spoken = spoken_stems(question)
    sizes = [phrase for phrase in cue_phrases("asks_for_size") if says(spoken, [phrase])]
    # A union with nothing is a copy all the same, which the cache would hold for each question.
    return asking.union(*sizes) if sizes else asking


_LETTERS_AND_DIGITS = re.compile(r"[^\W\d_]+\d")
# The words of a code that is written with a hyphen are its letters, hardly more than these, and a number.
_CODE_LETTERS = 3


def codes_in(asked: Sequence[str]) -> list[frozenset[str]]:
    """The stems of each code among those of a question: of "E042", and of "INC-10234"."""
    whole = [frozenset((stemmed,)) for stemmed in asked if _LETTERS_AND_DIGITS.match(stemmed)]
    near = pairwise(asked)
    return whole + [
        frozenset(pair) for pair in near if pair[1].isdecimal() and pair[0].isalpha() and len(pair[0]) <= _CODE_LETTERS
    ]


def asking_stems(asked: Sequence[str], question: str = "") -> frozenset[str]:
    """The stems that only say how it is asked in a question of the stems `asked`, or in any where it is not known as a
    text: nothing need hold them. Beside a code so do words such as "mean", "fix" and "error"."""
    asking = stems_asking(question) if question else subjectless_stems()
    return asking | _asks_of_code() if codes_in(asked) else asking


@cache
def _asks_of_code() -> frozenset[str]:
    said = words(" ".join(language_words("asks_of_code") | language_words("asks")))
    return frozenset(map(stem, said)) - frozenset(map(stem, stop_words()))


@cache
def _connectives() -> Phrases:
    """With what a question begins that leans on the one before."""
    return _by_first_word(tuple(words(text)) for text in language_words("follow_up", "connectives"))


@cache
def _pronouns(language: str) -> frozenset[str]:
    """The pronouns of all languages, without those that are other small words of `language`: "le" of French, which is
    one in Spanish, and "es" of Spanish, which is one in German."""
    every, own = language_words("follow_up", "pronouns"), language_data(language, "follow_up", "pronouns")
    return frozenset(words(" ".join(every))) - (small_words_of(language) - frozenset(words(" ".join(own))))
