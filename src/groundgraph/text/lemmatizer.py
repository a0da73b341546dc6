"""Bringing words to a common form, so that "ставки" finds "ставка" and "rates" finds "rate"."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from groundgraph.core.errors import ConfigurationError, Problem
from groundgraph.core.registry import nearest
from groundgraph.text.words import content_words, fold, is_cyrillic, stem, words

_PACKAGES = ("pymorphy3", "simplemma")
# Words whose lemma is remembered.
_REMEMBERED = 200_000


class Lemmatizer(Protocol):
    """Gives all forms of a word one lemma; called by several threads at once."""

    def lemma(self, word: str) -> str:
        """The lemma of one word, which is folded as `groundgraph.text.words.words` gives it; never empty."""


class SnowballLemmatizer:
    """The Snowball stem in place of a lemma: needs no dictionary, and knows words that none has."""

    def lemma(self, word: str) -> str:
        """See `Lemmatizer.lemma`."""
        return stem(word)


class DictionaryLemmatizer:
    """Lemmas out of dictionaries: pymorphy3's for words in Cyrillic, which are taken for Russian, else simplemma's.

    Dictionaries are read when the first word is asked for.

    Args:
        languages: codes of the languages that words in other scripts may be of, the likeliest first.
    """

    def __init__(self, languages: Sequence[str] = ("en",)) -> None:
        self._languages = tuple(languages)
        self._guard = threading.Lock()
        self._known = lru_cache(maxsize=_REMEMBERED)(self._found)

    def lemma(self, word: str) -> str:
        """See `Lemmatizer.lemma`."""
        return self._known(word)

    def _found(self, word: str) -> str:
        # Neither library says that it may be used by two threads at once.
        with self._guard:
            return fold(self._russian_lemma(word) if is_cyrillic(word) else self._other_lemma(word)) or word

    @cached_property
    def _russian(self) -> Any:
        # It tells no types, so mypy would have to be told of it.
        return import_module("pymorphy3").MorphAnalyzer(lang="ru")

    def _russian_lemma(self, word: str) -> str:
        try:
            return str(self._russian.parse(word)[0].normal_form)
        except ValueError:
            # It asks for the Unicode name of each letter, and not every letter has one (Tangut, for example).
            return word

    def _other_lemma(self, word: str) -> str:
        import simplemma

        return simplemma.lemmatize(word, lang=self._languages)


def configured_lemmatizer(name: str, languages: Sequence[str], key: str) -> Lemmatizer:
    """The lemmatizer called `name`, `snowball` or `dictionary`.

    Args:
        name: the name.
        languages: see `DictionaryLemmatizer`.
        key: where the choice stands in the configuration, for messages.

    Raises:
        ConfigurationError: its packages are not installed, or have no dictionary of a language.
    """
    if name == "snowball":
        return SnowballLemmatizer()
    missing = [package for package in _PACKAGES if find_spec(package) is None]
    if missing:
        told = f"'dictionary' needs {' and '.join(missing)}: pip install \"groundgraph[lemma]\", or take 'snowball'"
        raise ConfigurationError([Problem(f"{key}.lemmatizer", told)])
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

    unknown = [language for language in languages if language not in SUPPORTED_LANGUAGES]
    if unknown:
        known = sorted(SUPPORTED_LANGUAGES)
        told = f"there is no dictionary of '{unknown[0]}'.{nearest(unknown[0], known)} Known: {', '.join(known)}."
        raise ConfigurationError([Problem(f"{key}.languages", told)])
    return DictionaryLemmatizer(languages)


def lemmas(text: str, lemmatizer: Lemmatizer) -> list[str]:
    """The lemmas of the content words of `text`, in order and with repetitions; stop words are left out."""
    return list(map(lemmatizer.lemma, content_words(words(text))))


def query_lemmas(text: str, lemmatizer: Lemmatizer) -> list[str]:
    """The distinct lemmas of a question in order; when it consists of stop words only, those."""
    found = lemmas(text, lemmatizer) or [lemmatizer.lemma(word) for word in words(text)]
    return list(dict.fromkeys(found))
