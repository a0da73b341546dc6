"""Numbers in digits: sign, marks between the digits, exponent, scale and unit, and what each may mean."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from operator import neg
from typing import Any

from groundgraph.text.follow_up import language_words
from groundgraph.text.words import fold, is_cyrillic, normalized, read_data, words

Unit = tuple[str, float]

# The words that numbers, dates and units are written with: signs in `units.yaml`, words in the files of languages.

# No word of the file is longer; to try each beginning of a longer one takes time by its square.
_LONGEST = 24
_TABLES = ("numbers", "loose_numbers", "scales", "months", "units", "prefixes")


@cache
def _data() -> dict[str, Any]:
    signs = read_data((files("groundgraph.text") / "units.yaml").read_text("utf-8"))
    tables: dict[str, Any] = {name: language_words("number_words", name) for name in _TABLES}
    units = {
        name: _folded(language_words("number_words", "units", name)) for name in signs["units"] | tables.pop("units")
    }
    tables = {name: _folded(table) for name, table in tables.items()}
    return tables | signs | {"units": units, "signs": signs["units"], "words": tables["prefixes"]}


def _folded(table: Mapping[str, Any]) -> dict[str, Any]:
    """As words are looked up: "fünf" and "März" have letters that are folded."""
    return {fold(word): value for word, value in table.items()}


@cache
def _unit_words() -> dict[str, Unit]:
    """The units that languages have words for."""
    return _by_word(_data()["units"])


@cache
def _signs() -> dict[str, Unit]:
    """The signs of units in any case."""
    symbols = _symbols()
    cases = Counter(map(fold, symbols))
    # "W" is a watt, and "w" none; "mw" may be two.
    in_any_case = {fold(sign): unit for sign, unit in symbols.items() if len(sign) > 1 and cases[fold(sign)] == 1}
    return in_any_case | _by_word(_data()["signs"])


def _by_word(units: Mapping[str, Mapping[str, float]]) -> dict[str, Unit]:
    return {fold(word): (dimension, float(size)) for dimension, own in units.items() for word, size in own.items()}


@cache
def _symbols() -> dict[str, Unit]:
    """The symbols as they are written, with their prefixes; those of lengths squared and cubed too."""
    found: dict[str, Unit] = {}
    for symbol, (dimension, size, *prefixes) in _data()["symbols"].items():
        own = {symbol: float(size)} | {f"{one}{symbol}": _data()["prefixes"][one] * size for one in "".join(prefixes)}
        found |= {_plain(name): (dimension, size) for name, size in own.items()}
    lengths = found | {word: unit for word, unit in _unit_words().items() if len(word) < 3}
    for power, dimension in ((2, "area"), (3, "volume")):
        found |= {f"{name}{power}": (dimension, size**power) for name, (of, size) in lengths.items() if of == "length"}
    return found


def _plain(sign: str) -> str:
    """A sign as it is looked up: µ is two characters of Unicode, ² a 2, and "° C" has a blank."""
    return normalized("NFKC", sign).replace("° ", "°")


def _with_prefix(word: str) -> Unit | None:
    """The unit that a word such as "kilowatts" is, from the words of a prefix and a unit."""
    for prefix, times in _data()["words"].items():
        unit = _find(_unit_words(), word.removeprefix(prefix)) if word.startswith(prefix) else None
        if unit:
            return unit[0], unit[1] * times
    return None


def _find(table: dict[str, Any], word: str) -> Any:
    """The entry for `word`, or the one with an asterisk that it begins with."""
    if word in table:
        return table[word]
    longest = min(len(word), _LONGEST)
    return next((table[f"{word[:end]}*"] for end in range(longest, 2, -1) if f"{word[:end]}*" in table), None)


@lru_cache(maxsize=8192)
def number_of(word: str, *, loose: bool = False) -> float | None:
    """The number that a word is, as "three"; with `loose` also those such as "first"."""
    found = _find(_data()["numbers"], fold(word))
    if found is None and loose:
        found = _find(_data()["loose_numbers"], fold(word))
    return None if found is None else float(found)


@lru_cache(maxsize=8192)
def scale_of(word: str) -> float | None:
    """How much a word such as "million" multiplies by."""
    return _find(_data()["scales"], fold(word))  # type: ignore[no-any-return]


@lru_cache(maxsize=8192)
def month_of(word: str) -> int | None:
    """The number of a month."""
    return _find(_data()["months"], fold(word))  # type: ignore[no-any-return]


def only_days_differ(one: str, other: str) -> bool:
    """Whether two wordings of a question write its days otherwise, "4 July" and "07-04", and differ in nothing else."""
    said, other_said = frozenset(words(one)), frozenset(words(other))
    return said != other_said and _in_numbers(said - other_said) == _in_numbers(other_said - said)


def _in_numbers(said: Iterable[str]) -> frozenset[str]:
    """The words that are `said`, a month by its number and a number without zeros before it."""
    return frozenset(word.lstrip("0") if word.isdecimal() else str(month_of(word) or word) for word in said)


def holds_number(text: str) -> bool:
    """Whether a number stands in `text`, in digits or as a word, the name of a month among them, with its capital where
    it is a verb too: "it may leak". That of a section or a version tells how much of nothing."""
    text = _versioned().sub(" ", text)
    kinds = number_of, scale_of, month_of
    verbs = language_words("number_words", "verbs")
    small = [verb for verb in verbs if not re.search(rf"\b{verb.capitalize()}\b", text)]
    said = (word for word in words(text) if word not in small)
    return any(map(str.isdigit, text)) or any(kind(word) is not None for word in said for kind in kinds)


@cache
def _versioned() -> re.Pattern[str]:
    """The number of a section, a version or the like, with the word before it."""
    kinds = "|".join(map(re.escape, language_words("numbers", "versions")))
    return re.compile(rf"\b(?:{kinds})\s\d[\d.]*", re.IGNORECASE)


@lru_cache(maxsize=8192)
def unit_of(word: str) -> Unit | None:
    """The dimension of a unit, and how many of the dimension's chosen one it is; of a rate, such as "mph", the first
    of its two."""
    sign = _plain(word)
    folded = fold(sign)
    rate = _data()["rates"].get(folded)
    if rate:
        return unit_of(rate[0])
    return _symbols().get(sign) or _signs().get(folded) or _find(_unit_words(), folded) or _with_prefix(folded)


@lru_cache(maxsize=8192)
def per_of(word: str) -> Unit | None:
    """The unit of which a rate of one word, such as "mph", is one."""
    rate = _data()["rates"].get(fold(word))
    return unit_of(rate[1]) if rate else None


@lru_cache(maxsize=8192)
def letter_scale(letter: str, *, money: bool) -> float | None:
    """How much a letter behind a number multiplies by, as in "1.5M", or with `money` "$1.5m"."""
    tables = [_data()["scale_letters"], *([_data()["money_letters"]] if money else [])]
    return next((float(table[letter]) for table in tables if letter in table), None)


_NO_UNIT: Unit = ("", 0.0)

# As wide as before: offsets stay. A minus in a word, as in E−1042, joins.
PLAIN = str.maketrans(
    dict(zip("\u00a0\u2007\u2009\u202f٪％．，：＋－﹣٫＄￥", "    %%.,:+--.$¥", strict=True)) | {"٬": "'"}
)
WORD = r"[^\W\d_]+"
_MONEY = "$€£₽¥"


@cache
def spoken(*path: str) -> str:
    """What matches one of the words that stand under `path` in the data files of the languages, the longest first."""
    return "|".join(map(re.escape, sorted(language_words(*path), key=len, reverse=True)))


@cache
def _money() -> str:
    """What matches what says before a number that it is money."""
    return rf"(?:[{_MONEY}]|(?<!\w)(?:{'|'.join(_data()['money_codes'])})(?!\w))"


@cache
def _before() -> re.Pattern[str]:
    return re.compile(rf"(?P<sign>±\s?|\+/-\s?|−\s?|[-+–])?(?P<mark>{_money()}\s?)?(?P<late>[-–−])?\Z")


@cache
def number_pattern() -> re.Pattern[str]:
    """What matches a number in digits, with its power, the ending of an ordinal, its scale and unit, and what it is
    counted by, as in "5 mg per day"."""
    each = spoken("numbers", "one")
    # "per cent" is a unit of its own.
    units = "|".join(word for word in _unit_words() if word.partition(" ")[0] in language_words("numbers", "one"))
    word = rf"(?!(?!{units})(?:{each})\b)(?:° ?)?{WORD}\b"
    return re.compile(
        r"(?<![\w.,])(?P<number>\d{1,3}(?:[ '’,.]\d{3})+(?!\d)(?:[.,]\d{1,2}(?!\d))?|\d+(?:[.,]\d+)?|\.\d+)"
        r"(?P<power>[eE][+-]?\d{1,3}(?![\w.,]\w)(?!\w)|\s?[×·x*]\s?10(?:\^[+−-]?\d{1,3}|[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}))?"
        rf"(?P<ordinal>-?(?:{spoken('numbers', 'ordinals')})\b)?"
        rf"(?:[ -]?(?P<scale>{word})\.?)?(?:[ -]?(?P<unit>[%‰{_MONEY}]|{word}))?"
        rf"(?P<per> ?/ ?{WORD}\b| (?:{each}) {WORD}\b)?"
    )


_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻−", "0123456789+--")
_LEAD = 6
_JOINED_TO = re.compile(r"[\w)\]}%'\"°]")
# In a text with such letters a comma stands before decimals; it is asked again for each number.
_has_cyrillic = lru_cache(maxsize=1024)(is_cyrillic)
# Digits behind a mark that can only be decimals, and groups that can only be thousands.
_SURELY = re.compile(
    r"(?<![\w.,])(?:\d{1,3}(?P<groups>[,.])\d{3}(?:(?P=groups)\d{3})++(?!\d)|\d{1,3}(?P<group>[,.])\d{3}(?!\d)(?!(?P=group))"
    r"(?P<tail>[,.])\d|0(?P<zero>[,.])\d+)"
)
_LIKELY = re.compile(r"(?<![\w.,])\d+(?P<mark>[,.])(?:\d{1,2}|\d{4,})(?![\w.,]*\d)")
_CLOCK_LIKE = re.compile(r"(\d{1,2})\.([0-5]\d)")
_SAID = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_BEHIND = re.compile(rf"[ °]{{0,3}}(?:[CF]\b ?)?({WORD})")
_NEAR = 40


@dataclass(frozen=True)
class Number:
    """One number of a text.

    Attributes:
        text: as it is written, with its unit.
        values: what it may mean: "1,500" is 1500 or 1.5.
        plain: the same without the scale: 5 for "5 million".
        unit: the dimension of its unit and the unit's size; None without one that is known.
        per: the unit that it is counted by, as in "5 mg per day"; None without one that is known.
        code: its digits where they are no value: version 2.10 is not 2.1.
        long: its digits where a float holds them only nearly, as of the number of an account; None for all others.
        sure: what it means beside a number that is written without doubt; None for all of `values`, and empty where
            only the other text's way of writing would tell.
        scale: by how much a word behind it multiplies.
        clock: the minute of the day, when it is written as "16.30" is.
        others: what else the same digits may be: with another unit, or below zero.
    """

    text: str
    values: frozenset[float]
    plain: frozenset[float]
    unit: Unit | None = None
    sure: frozenset[float] | None = None
    scale: float | None = None
    clock: int | None = None
    per: Unit | None = None
    code: str | None = None
    long: str | None = None
    others: tuple[Number, ...] = field(default=(), repr=False)

    @property
    def is_open(self) -> bool:
        """Whether its marks can be read in two ways."""
        return self.sure is not None

    @property
    def certain(self) -> frozenset[float]:
        """What it means beside a number that is written without doubt."""
        return self.values if self.sure is None else self.sure

    def mapped(self, change: Callable[[float], float]) -> Number:
        """The same with other values."""
        values, plain, certain = (frozenset(map(change, one)) for one in (self.values, self.plain, self.certain))
        return replace(self, values=values, plain=plain, sure=certain if self.is_open else None)

    def negated(self) -> Number:
        """The same below zero."""
        return replace(self.mapped(neg), clock=None, others=())

    def ways(self) -> tuple[Number, ...]:
        """It and what else it may be."""
        return (self, *self.others)


@lru_cache(maxsize=1024)
def decimal_mark(text: str) -> str | None:
    """The mark before decimals in `text`, a point or a comma; None when its numbers do not tell, or disagree."""
    sure = set[str]()
    for found in _SURELY.finditer(text):
        grouping = found["groups"] or found["group"]
        sure.add(found["zero"] or found["tail"] or (".," if grouping == "." else ",.")[1])
    likely = sure or {found["mark"] for found in _LIKELY.finditer(text)}
    return next(iter(likely)) if len(likely) == 1 else None


def numbers_in(text: str, decimal: str | None = None) -> tuple[Number, ...]:
    """The numbers in digits of `text`, in order, whose decimals stand behind the mark `decimal`; see `decimal_mark`."""
    found = list(number_pattern().finditer(text))
    numbers = [way for match in found for way in _signed(match, decimal)] if found else []
    return tuple(_with_shared_unit(numbers, found, text)) if numbers else ()


def ranges_in(text: str, decimal: str | None = None) -> tuple[tuple[Number, Number], ...]:
    """Numbers of one unit that a dash or "to" joins, as in "2-3 %".

    In "rose from 2 to 3 %" they are two, each looked for by itself.
    """
    joined = (
        (_signed(low, decimal)[0], _signed(high, decimal)[0])
        for low, high in pairwise(number_pattern().finditer(text))
        if _joins().fullmatch(text[low.end("number") : high.start("number")])
        and not _from().search(text, max(0, low.start() - _NEAR), low.start())
    )
    return tuple((low, high) for low, high in joined if None in (low.unit, high.unit) or low.unit == high.unit)


@cache
def _from() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{spoken('numbers', 'from')}) ?(?:{_money()} ?)?\Z", re.IGNORECASE)


@lru_cache(maxsize=1)
def _joins() -> re.Pattern[str]:
    return re.compile(rf"\s?%?\s?(?:[-–—]|{spoken('numbers', 'joins')})\s?(?:{_money()}\s?)?", re.IGNORECASE)


def _with_shared_unit(numbers: list[Number], found: list[re.Match[str]], text: str) -> Iterator[Number]:
    """`numbers`; of "2-3 %" and "5, 7 and 9 %" the first ones may be shares too."""
    shared = None
    # From the last to the first.
    if len(numbers) != len(found):
        yield from numbers
        return
    ways: list[Number] = []
    for at in range(len(numbers) - 1, -1, -1):
        number = numbers[at]
        if number.unit is None and shared:
            between = text[found[at].end("number") : found[at + 1].start("number")]
            if len(between) <= _LEAD and not any(mark in between for mark in ".;:\n"):
                number = replace(number, others=(*number.others, replace(number, unit=shared, others=())))
            else:
                shared = None
        elif number.unit and number.unit[0] == "share":
            shared = number.unit
        else:
            shared = None
        ways.append(number)
    yield from reversed(ways)


def _signed(found: re.Match[str], decimal: str | None) -> tuple[Number, ...]:
    """The number that was `found`, with what stands before it; two for one that is written with ±."""
    text, start = found.string, found.start()
    lead = _before().search(text[max(0, start - _LEAD) : start])
    assert lead is not None
    sign, mark, late = lead.groups(default="")
    sign = (sign or late).strip()
    at = max(0, start - _LEAD) + lead.start()
    number = _number(found, decimal, mark.strip())
    before = text[max(0, at - 2) : at]
    if sign and _JOINED_TO.match(before[-1:]):
        # 2-3, A-5: it joins.
        sign, at = "", start - len(mark)
    number = replace(number, text=text[at : _end(found, number)].strip())
    if sign in ("±", "+/-"):
        return (replace(number, others=()), number.negated())
    if sign in ("-", "–", "−"):
        below = number.negated()
        # "10 -5" is written for a range too.
        return (replace(below, others=(number,)) if before[-1:].isspace() and before[:1].isdigit() else below,)
    return (_said(number, found, text[max(0, at - _NEAR) : at]),)


def _end(found: re.Match[str], number: Number) -> int:
    """Where the number ends whose scale and unit are known."""
    if number.per and found["per"]:
        return found.end("per")
    parts = found.groupdict(default="")
    scale, unit, known = parts["scale"], parts["unit"], number.unit or _NO_UNIT
    if unit_of(unit) == known and (number.scale or not scale):
        return found.end("unit")
    if number.scale or unit_of(scale) == known:
        return found.end("scale")
    if number.unit and scale and unit:
        return found.end("unit" if unit_of(f"{scale} {unit}") == known else "number")
    return max(found.end("number"), found.end("power"))


def _said(number: Number, found: re.Match[str], before: str) -> Number:
    """`number` with the sign that the words around it give it."""
    # No word stands before the first.
    words = ["", *map(str.lower, _SAID.findall(before.rpartition("\n")[2]))]
    if words[-1] in language_words("numbers", "versions") and "." in found["number"]:
        return replace(number, code=found["number"])
    if words[-1] in language_words("numbers", "negative"):
        return replace(number.negated(), text=f"{words[-1]} {number.text}")
    while words[-1] in language_words("numbers", "between"):
        words.pop()
    end = _end(found, number)
    rest = found.string[end : end + _NEAR]
    behind = _BEHIND.match(rest)
    lowered = words[-1] in language_words("numbers", "lowers")
    lower = behind is not None and behind[1].lower() in language_words("numbers", "lower")
    bookkept = before.endswith("(") and rest.startswith(")")
    return replace(number, others=(*number.others, number.negated())) if lowered or lower or bookkept else number


def _number(found: re.Match[str], decimal: str | None, mark: str) -> Number:
    digits, word = found["number"], found["scale"] or ""
    letter = _scale_letter(found, mark)
    scale = letter or scale_of(word)
    known = None if found["ordinal"] else _unit(word, found["unit"] or "", mark, scaled=bool(scale))
    per = unit_of((found["per"] or " ").replace("/", " ").split(" ")[-1]) or per_of(word)
    values, sure = _meant(digits, decimal, _has_cyrillic(found.string))
    clock = None if known else _minute(digits)
    power = _power(found["power"])
    long = None if scale or power != 1 else _long(digits)
    plain = Number("", values, values, known, sure, None, clock, per, long=long)
    plain = plain if power == 1 else plain.mapped(lambda value: rounded(value * power))
    if not scale:
        return plain
    scaled = replace(plain.mapped(lambda value: rounded(value * scale)), plain=plain.plain, scale=scale)
    length = unit_of(word) if letter and not mark else None
    return replace(scaled, others=(replace(plain, unit=length),)) if length else scaled


def _long(written: str) -> str | None:
    digits = re.sub(r"\D", "", written)
    return digits if len(digits.strip("0")) > sys.float_info.dig else None


def _scale_letter(found: re.Match[str], mark: str) -> float | None:
    """How much a letter right behind the digits multiplies by; further behind, a capital or one of an amount."""
    letter = found["scale"] or ""
    glued = found.start("scale") == max(found.end("number"), found.end("power"))
    # "5.1m" is 5.1 million as well as metres.
    return letter_scale(letter, money=bool(mark) or glued) if glued or mark or letter.isupper() else None


def _unit(word: str, behind: str, mark: str, *, scaled: bool) -> Unit | None:
    """The unit that two words name, or the mark of money before the number, or the word that is no scale."""
    two_words = unit_of(f"{word} {behind}") if word and behind else None
    return two_words or unit_of(mark or (behind if scaled or not word else word))


def _minute(digits: str) -> int | None:
    """The minute of the day that "16.30" may be."""
    clock = _CLOCK_LIKE.fullmatch(digits)
    return int(clock[1]) * 60 + int(clock[2]) if clock and int(clock[1]) <= 24 else None


def rounded(value: float) -> float:
    """`value` without what floats add to a product: 0.1 * 3 is 0.3."""
    return float(f"{value:.14g}")


def _power(written: str | None) -> float:
    if not written:
        return 1
    raised = written.translate(_RAISED).lstrip()
    exponent = raised[1:] if raised[:1] in "eE" else raised.partition("10")[2].lstrip("^")
    return float(f"1e{exponent}")


@lru_cache(maxsize=8192)
def _meant(number: str, decimal: str | None, cyrillic: bool) -> tuple[frozenset[float], frozenset[float] | None]:
    """What `number` may mean, and what it means without doubt; None for the same."""
    found = readings(number)
    if len(found) == 1:
        return found, None
    mark = re.sub(r"\d", "", number)[-1:]
    grouped, fraction = frozenset([max(found)]), frozenset([min(found)])
    if decimal:
        meant = fraction if mark == decimal else grouped
        return meant, meant
    # A comma before three digits divides thousands, in English; elsewhere, and for a point, nothing tells.
    return found, grouped if mark == "," and not cyrillic else frozenset()


@lru_cache(maxsize=8192)
def readings(number: str) -> frozenset[float]:
    """What a number in digits may mean, whose points and commas divide thousands or decimals."""
    if number.isdigit():
        return frozenset([float(number)])
    parts = re.split(r"([ '’,.])", number)
    groups, marks = parts[0::2], parts[1::2]
    found: set[float] = set()
    if groups[0] not in ("", "0") and {len(group) for group in groups[1:]} == {3} and len(set(marks)) == 1:
        found.add(float("".join(groups)))
    if marks[-1] in ",." and marks[-1] not in marks[:-1]:
        found.add(float("".join(groups[:-1]) + "." + groups[-1]))
    return frozenset(found or {float("".join(groups))})
