"""Messages that need no retrieval: greetings, farewells, thanks, acknowledgements, and what the bot itself is."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

from groundgraph.text.follow_up import language_words
from groundgraph.text.words import LANGUAGES, WORD, fold, language_data, small_words, spoken_language, stems, words

MAX_WORDS = 10
MAX_TALK_CHARS = 120
# So many words with a capital letter may end a greeting as a name: "Hi Anna", "Good morning, Anna Schmidt".
NAME_WORDS = 2
ACKNOWLEDGEMENT = "acknowledgement"
_BETWEEN_CLAUSES_OR_SENTENCES = re.compile(r"[,;:.!…()\n—–]+")
# The words with which a remark behind thanks begins, and how many content words it has at most.
REMARKS = "remarks"
REMARK_WORDS = 2


def small_talk(message: str, languages: Sequence[str]) -> str | None:
    """`greeting`, `farewell`, `thanks`, `acknowledgement` or `about` when the whole message is one, else None.

    The first phrase that means something decides, an acknowledgement only where nothing else does; words around it
    must be fillers of the same language, a name at its end, or, behind thanks, a remark that asks nothing and says
    little. Emoji alone acknowledge.
    """
    spoken = tuple(words(message))
    if not spoken:
        return ACKNOWLEDGEMENT if any(unicodedata.category(sign) == "So" for sign in message) else None
    if len(spoken) > MAX_WORDS:
        return None
    names = _names(message)
    return next((kind for language in languages if (kind := _kind(spoken, language, names))), None)


def language_of(message: str, before: str | None = None) -> str:
    """The language of a message: of one that is small talk as a whole one that has its phrases, which may hold no stop
    word, such as "Danke schön"; `before` is that of the messages before it. See `spoken_language`."""
    detected = spoken_language(message, before)
    if len(message) > MAX_TALK_CHARS or small_talk(message, [detected]):
        return detected
    return next((language for language in LANGUAGES if small_talk(message, [language])), detected)


def _names(message: str) -> int:
    """How many words at the end of `message` may be a name; -1 in a question."""
    if "?" in message:
        return -1
    written = [found.group() for found in WORD.finditer(message)]
    count = 0
    while count < min(NAME_WORDS, len(written) - 1) and written[-1 - count].istitle():
        count += 1
    return count


def _kind(spoken: tuple[str, ...], language: str, names: int) -> str | None:
    said, rest = _phrases_in(spoken, language)
    kinds = [kind for kind in said if kind != "fillers"]
    found = next((kind for kind in kinds if kind != ACKNOWLEDGEMENT), next(iter(kinds), None))
    is_name = found in ("greeting", "farewell", "thanks") and len(rest) <= names
    is_whole = not rest or is_name or (found == "thanks" and _is_remark(rest, names))
    return found if is_whole else None


def _is_remark(rest: tuple[str, ...], names: int) -> bool:
    """Whether `rest`, behind thanks, is about the one who is thanked or what was got: "you're a lifesaver"."""
    about = rest[0] in map(fold, language_words("small_talk", REMARKS))
    # Of three folded words none tells the language: "fur" is one of English as well.
    return about and names >= 0 and sum(word not in small_words() for word in rest) <= REMARK_WORDS


def parting_words(message: str, languages: Sequence[str]) -> str | None:
    """`thanks` or `farewell` when a short message asks nothing and one of its clauses is one, with a remark of at most
    `REMARK_WORDS` content words around all that is small talk: "You are brilliant, thanks a million". Else None.

    It may tell something too, so it is no reason not to look.
    """
    if "?" in message or len(list(words(message))) > MAX_WORDS:
        return None
    # Of signs alone a message may have tens of thousands of clauses.
    said = filter(WORD.search, _BETWEEN_CLAUSES_OR_SENTENCES.split(message))
    clauses = [tuple(words(clause)) for clause in said]
    return next((kind for language in languages if (kind := _parting_kind(clauses, language))), None)


def _parting_kind(clauses: Sequence[tuple[str, ...]], language: str) -> str | None:
    told = [_phrases_in(clause, language) for clause in clauses]
    kind = next((kind for said, _ in told for kind in said if kind in ("thanks", "farewell")), None)
    rest = " ".join(word for _, words in told for word in words)
    return kind if len(stems(rest)) <= REMARK_WORDS else None


def _phrases_in(clause: tuple[str, ...], language: str) -> tuple[list[str], tuple[str, ...]]:
    """The kind of each phrase of small talk with which `clause` begins, and the words behind them."""
    phrases, said = _phrases(language), list[str]()
    while length := next((n for n in range(min(MAX_WORDS, len(clause)), 0, -1) if clause[:n] in phrases), 0):
        said.append(phrases[clause[:length]])
        clause = clause[length:]
    return said, clause


@cache
def _phrases(language: str) -> dict[tuple[str, ...], str]:
    lists: dict[str, list[str]] = language_data(language, "small_talk")
    return {tuple(words(phrase)): kind for kind, own in lists.items() if kind != REMARKS for phrase in own}
