"""A computation that a model proposes for a question: read, held against the tables and the user's words, run."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain, product
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from groundgraph.answers.extract_intent import AskExtractor, closed, condition_schema, objects_in
from groundgraph.answers.extracted_filters import EMPTY, SIDES, extracted_filters
from groundgraph.answers.ground_fields import DateGround, UserWords
from groundgraph.core.computation import FUNCTIONS, MOST_GROUPS, ORDERS, ComputableTable, Proposal
from groundgraph.core.errors import FilterInvalid
from groundgraph.core.evidence import SourceResult
from groundgraph.models.call_model import note_chain_call, take_chain_call
from groundgraph.models.replies import prompt_messages
from groundgraph.prompts import Prompts
from groundgraph.settings.settings import Settings
from groundgraph.text.dates import Period, periods
from groundgraph.text.find_cue import Language, language_of
from groundgraph.text.follow_up import as_phrase, language_words
from groundgraph.text.numbers import number_of
from groundgraph.text.words import fold, name_stems, spaced, stem, stems, words

NONE = "none"
_DIGITS = re.compile(r"\d+")
_SHOWN_CHARS = 4_000
# The words of "1st quarter of 2026".
_LONGEST_PERIOD = 4
Run = Callable[[Proposal], Awaitable[SourceResult]]


def proposal_schema(tables: Sequence[ComputableTable]) -> dict[str, Any]:
    """The JSON schema of a proposal over one of `tables`."""
    fields = {name: spec for table in tables for name, spec in table.schema.fields.items()}
    properties = {
        "table": {"enum": [table.name for table in tables]},
        "function": {"enum": [*FUNCTIONS, NONE]},
        "field": {"enum": list(fields)},
        "group_by": {"type": "array", "items": {"enum": list(fields)}},
        "filters": closed({name: condition_schema(spec, "") for name, spec in fields.items()}),
        "order": {"enum": list(ORDERS)},
        "limit": {"type": "integer", "minimum": 1, "maximum": MOST_GROUPS},
    }
    description = "What to compute."
    return {"title": "computation", "description": description, **closed(properties), "required": ["function"]}


def read_proposal(given: Mapping[str, Any], tables: Sequence[ComputableTable], question: str) -> Proposal:
    """The proposal in a model's object, whose conditions are all in the user's words, and all of those in it.

    Raises:
        FilterInvalid: it names no table of these, or what the words say and what it says are not the same.
    """
    table, said = _table_of(given, tables), UserWords(question)
    group_by = _group_by(given)
    filters = _said_filters(given.get("filters") or {}, table, said)
    # One number has no order, and none of it is left out, whatever a model fills in.
    limit, order = (given.get("limit") or MOST_GROUPS, str(given.get("order") or "")) if group_by else (MOST_GROUPS, "")
    field = str(given.get("field") or "")
    proposal = Proposal(table.name, str(given.get("function")), filters, field, group_by, order, limit)
    _check_days(proposal, table, question)
    _check_sides(proposal, question)
    _check_numbers_said(proposal, said)
    _check_values_said(proposal, table, said)
    check_words(proposal, tables, question)
    return proposal


def _table_of(given: Mapping[str, Any], tables: Sequence[ComputableTable]) -> ComputableTable:
    """The table that is named; of a single one the name does not matter."""
    table = next((one for one in tables if one.name == given.get("table")), tables[0] if len(tables) == 1 else None)
    if table is None:
        raise FilterInvalid(f"There is no table {given.get('table')!r} to compute over.")
    return table


def _group_by(given: Mapping[str, Any]) -> tuple[str, ...]:
    fields = given.get("group_by") or []
    names = [fields] if isinstance(fields, str) else fields
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FilterInvalid("group_by is a list of fields.")
    return tuple(names)


def _said_filters(given: Any, table: ComputableTable, said: UserWords) -> dict[str, Any]:
    if empty := [str(name) for name, value in given.items() if value in EMPTY] if isinstance(given, Mapping) else []:
        raise FilterInvalid(f"A condition on {', '.join(empty)} holds no value; rows without one cannot be asked for.")
    ground = DateGround(said.text, datetime.now(UTC).date())
    found = extracted_filters({table.name: given}, {table.name: table.schema}, {}, said, ground)
    if found.dropped:
        raise FilterInvalid("; ".join(f"{one['field']} = {one['value']}: {one['reason']}" for one in found.dropped))
    return found.filters.get(table.name, {})


def _check_days(proposal: Proposal, table: ComputableTable, question: str) -> None:
    """Refuse a date of another field than the one that the words name, or of one of several when they name none."""
    days, asked = table.days, set(stems(question))
    named = [name for name in days if asked.intersection(name_stems(name))]
    for name in proposal.filters:
        if name in days and [name] != (named if len(days) > 1 else days):
            raise FilterInvalid(f"The words do not say that {name} is meant; dates: {', '.join(days)}.")


_SIDES = {"above": {"gt", "gte"}, "below": {"lt", "lte"}}


def _check_sides(proposal: Proposal, question: str) -> None:
    """Refuse a condition that keeps what lies on the other side of its value than all that the words say of a side; not
    where they rule something out, as in "no more than"."""
    spoken = set(words(question))
    if not spoken.isdisjoint(map(fold, language_words("negation"))):
        return
    said = {side for side in _SIDES if not spoken.isdisjoint(map(fold, language_words("computing", side)))}
    for name, condition in proposal.filters.items():
        kept = {
            side for side, operators in _SIDES.items() if isinstance(condition, Mapping) and operators & set(condition)
        }
        if len(kept) == len(said) == 1 and kept != said:
            raise FilterInvalid(f"The words ask for what lies {said.pop()} the value of {name}, not {kept.pop()} it.")


def _check_numbers_said(proposal: Proposal, said: UserWords) -> None:
    """Refuse a proposal without a number that the words hold; "1 March" is in "03-01"."""
    used = _used(proposal, proposal.group_by, proposal.field)
    numbers = _numbers(said.text) - _numbers(used) - set(_counts_of_days(said.text, used))
    if numbers:
        raise FilterInvalid(f"The words say {', '.join(sorted(numbers))}, which is in no condition.")


def _counts_of_days(text: str, used: str) -> Iterator[str]:
    """The numbers in phrases such as "last 30 days", "3 weeks ago" and "Q2" whose days the conditions `used` hold."""
    spoken, today = words(text), datetime.now(UTC).date()
    for at, word in ((at, word) for at, word in enumerate(spoken) if _DIGITS.search(word)):
        sizes = product((at - 1, at), range(1, _LONGEST_PERIOD + 1))
        phrases = (" ".join(spoken[start : start + size]) for start, size in sizes if start >= 0)
        if any(one.first.isoformat() in used for phrase in phrases for one in periods(phrase, today)):
            yield from _numbers(word)


def _used(proposal: Proposal, *more: object) -> str:
    """The conditions with their values, `more`, and how many groups there are to be, where some are left out."""
    limit = None if proposal.limit == MOST_GROUPS else proposal.limit
    return json.dumps([proposal.filters, limit, *more], default=str)


def _numbers(text: str) -> set[str]:
    return {digits.lstrip("0") or "0" for digits in _DIGITS.findall(text)}


def _check_values_said(proposal: Proposal, table: ComputableTable, said: UserWords) -> None:
    """Refuse a proposal without a value of a field that the words hold.

    A word that is also the name of a field or of the table may stand for that.
    """
    names = _words_of_names(table)
    taken = json.dumps(proposal.filters, ensure_ascii=False, default=str).casefold()
    for name, spec in table.schema.fields.items():
        for value in spec.get("enum") or () if name not in {*proposal.filters, *proposal.group_by} else ():
            is_name = names.issuperset(words(str(value)))
            if not is_name and str(value).casefold() not in taken and said.holds(str(value)):
                raise FilterInvalid(f"The words say {value!r}, a value of {name}, which is in no condition.")


def _words_of_names(table: ComputableTable) -> set[str]:
    """The words by which the table and its fields are called, in the singular too."""
    called = {word for name in (table.name, *table.schema.fields) for word in words(spaced(name))}
    return called | {word.removesuffix("s") for word in called}


@dataclass(frozen=True)
class ProposeComputation:
    """Asks a model for a computation, and once more when what it proposes cannot be run.

    Attributes:
        settings: the bounds of a call.
        prompts: the prompt files.
        ask: what is asked.
    """

    settings: Settings
    prompts: Prompts
    ask: AskExtractor

    async def __call__(self, question: str, tables: Sequence[ComputableTable], run: Run) -> SourceResult | None:
        """What the proposal for `question` gives; None when the model has none, or twice none that can be run.

        Raises:
            ModelError: the model failed, or may not be called any more.
            SourceError: the source failed while it computed.
        """
        schema = proposal_schema(tables)
        prompt = prompt_messages(self.prompts.render("propose_computation", tables=tables), question)
        for role in ("propose_computation", "repair_computation"):
            take_chain_call()
            reply = await self.ask.recorded(role, prompt, schema, self.settings, note_chain_call)
            given = next(objects_in(reply), None)
            if given is not None and given.get("function") == NONE:
                return None
            try:
                return await run(read_proposal(given or {}, tables, question))
            except FilterInvalid as error:
                prompt = [*prompt, *self._repair(reply, str(error))]
        return None

    def _repair(self, reply: Any, reason: str) -> list[BaseMessage]:
        said = str(reply.text if isinstance(reply, AIMessage) else reply)[:_SHOWN_CHARS]
        told = HumanMessage(self.prompts.render("repair_computation", reason=reason))
        return [AIMessage(said), told] if said.strip() else [told]


# Whether a proposal accounts for every word of the question: a number over too many rows, or by another function, looks
# like any other.

# Stems of which as many letters from the first are the same are forms of one word: "opened" and "opening_date".
SAME_BEGINNING = 5
_RANGES = ("gt", "gte", "lt", "lte")
# Of one row they are its value.
_OF_ONE = ("sum", "max", "min", "average")
_EXTREMES = {"max": "largest", "min": "smallest"}
_UNEQUAL = re.compile(r"!=|<>|≠")


def check_words(proposal: Proposal, tables: Sequence[ComputableTable], question: str) -> None:
    """Refuse a proposal over one of `tables` that leaves out what `question` asks for, or holds what it does not say.

    Raises:
        FilterInvalid: a word, a function, a group or a negation is not accounted for.
    """
    account = _Account(proposal, tables, question)
    account.check_table()
    account.check_functions()
    account.check_fields()
    account.check_groups()
    account.check_negation()
    account.check_conditions()
    if unread := account.unread():
        raise FilterInvalid(f"The words say {', '.join(map(repr, unread))}, which the computation leaves out.")


def _as_said(name: str) -> str:
    return fold(spaced(name))


@dataclass(frozen=True)
class _Account:
    proposal: Proposal
    tables: Sequence[ComputableTable]
    question: str

    @cached_property
    def _table(self) -> ComputableTable:
        return next(one for one in self.tables if one.name == self.proposal.table)

    @cached_property
    def _language(self) -> Language:
        return language_of(self.question)

    @cached_property
    def _used(self) -> list[str]:
        own = [self.proposal.field] if self.proposal.field else []
        return [*self.proposal.filters, *self.proposal.group_by, *own]

    @cached_property
    def _text(self) -> str:
        """The folded question without the names of what is used: "total" may be a column."""
        return _without(fold(self.question), [_as_said(name) for name in self._used])

    @cached_property
    def _conditions(self) -> list[tuple[str, Any]]:
        """The conditions of all fields as operator and operand, `eq` for a plain value."""
        given = self.proposal.filters.values()
        pairs = (one.items() if isinstance(one, Mapping) else [("eq", one)] for one in given)
        return list(chain.from_iterable(pairs))

    @cached_property
    def _excluded(self) -> list[Any]:
        """The values that conditions rule out."""
        given = (_operands(operand) for operator, operand in self._conditions if operator == "not" or operand is False)
        return list(chain.from_iterable(given))

    @cached_property
    def _bounds(self) -> bool:
        return any(operator in _RANGES for operator, _ in self._conditions)

    def check_functions(self) -> None:
        """Refuse another function than the one that the words ask for, and any where they ask for what none does."""
        extremes = _folded(*_EXTREMES.values())
        met = {
            "comparison": self._bounds,
            # "More than 15" is no superlative.
            "superlative": self._is_extreme() or (self._bounds and not extremes.intersection(words(self._text))),
            "order": self._bounds or self._is_extreme() or bool(self.proposal.filters),
        }
        for needs, pattern in self._language.not_offered.items():
            if not met.get(needs) and pattern.search(self._text):
                raise FilterInvalid(f"The words ask for a {needs}, which this is not.")
        asked = {name for name, pattern in self._language.functions.items() if pattern.search(self._text)}
        for name in asked:
            if not self._does(name, asked):
                raise FilterInvalid(f"The words ask for the {name}, which this is not.")
        spoken = set(words(self._text))
        said = {order for order in _EXTREMES.values() if not _folded(order).isdisjoint(spoken)}
        if said and self._is_extreme() and self._order() not in said:
            raise FilterInvalid(f"The words ask for the {said.pop()}, which this is not.")

    def _does(self, asked: str, others: set[str]) -> bool:
        function = self.proposal.function
        if asked in _EXTREMES:
            return self._order() == _EXTREMES[asked]
        if asked == "average":
            return function == asked
        allowed = {"count", "distinct", "sum"} if "count" in others else {"sum"}
        # "The highest total amount" is an extreme of sums, and "the highest average" one of averages.
        return function in allowed or ("average" in others and not self.proposal.group_by)

    def _order(self) -> str:
        return self.proposal.order or _EXTREMES.get(self.proposal.function, "")

    def _is_extreme(self) -> bool:
        return bool(self._order())

    def check_table(self) -> None:
        """Refuse a table that no word names, nor one of its fields, and one where the rows of another are counted."""
        if not any(map(self._names, (self.proposal.table, *self._used))):
            raise FilterInvalid(f"The words do not say that {self.proposal.table} is meant.")
        behind, own = self._counted(), name_stems(self.proposal.table)
        for other in (name_stems(one.name) for one in self.tables if one.name != self.proposal.table):
            counted = other and behind[: len(other)] == other and own != behind[: len(own)]
            if counted or self._is_named_instead(set(other), set(own)):
                raise FilterInvalid(f"The words do not ask for rows of {self.proposal.table}.")

    def _is_named_instead(self, other: set[str], own: set[str]) -> bool:
        """Whether the words hold the whole name `other` of a table, and of what another one is called, its `own`, no
        more than that: "orders" beside "open orders", or the other way round."""
        said = set(stems(self.question))
        says_less = other < own and not own <= said
        return bool(other) and other <= said and (says_less or own < other)

    def _counted(self) -> list[str]:
        """The stems behind what asks for a count; none where nothing does."""
        counts = self._language.functions["count"].search(fold(self.question))
        return stems(fold(self.question)[counts.end() :]) if counts else []

    def check_fields(self) -> None:
        """Refuse a field that no word names, and one that is counted where its rows are, or the other way round."""
        behind, field = self._counted(), self.proposal.field
        wanted = [*self.proposal.group_by, *self._numbered()]
        # "How many were ordered?" asks for a quantity.
        of_pieces = bool(behind) and _as_said(field) in _folded("quantity")
        wanted += [field] if field and not of_pieces else []
        # A word of what the table is called names no field of it.
        apart = _without(fold(self.question), [_as_said(self.proposal.table)])
        unnamed = self._unnamed_of_rows()
        for name in wanted:
            if name not in unnamed and not self._names(name, apart):
                raise FilterInvalid(f"The words do not say that {name} is meant.")
        # "The largest by amount" are no groups by it.
        named = self._grouped_by().difference({field} if unnamed else ())
        if named and named.isdisjoint(self.proposal.group_by):
            raise FilterInvalid("The words ask for one number of each group.")
        rows, values = (_place(behind, name_stems(name)) for name in (self.proposal.table, field))
        grouped = not _folded("groups").isdisjoint(words(self.question)) and not self.proposal.group_by
        is_count, is_sum = (self.proposal.function == one for one in ("count", "sum"))
        first = rows < values < len(behind) if is_count else values < rows
        if behind and field and (not first or grouped or (is_sum and not of_pieces)):
            raise FilterInvalid(f"The words do not ask for the {self.proposal.function} of {field}.")

    def _is_of_rows(self) -> bool:
        """Whether the rows themselves are asked for that have the most or the least: "the three largest orders", of
        which each is a group. They stand right behind that word, or behind "which"."""
        proposal, own = self.proposal, name_stems(self.proposal.table)
        by_key = list(proposal.group_by) == [self._table.key] and bool(proposal.order)
        number = proposal.field in self._table.numbers and proposal.function in _OF_ONE
        return by_key and number and any(behind[: len(own)] == own for behind in self._behind_extremes())

    def _behind_extremes(self) -> Iterator[list[str]]:
        """The stems behind each word that asks for an extreme or for which of something; no values and numbers."""
        spoken = words(self._left)
        asking = _folded(*_EXTREMES.values(), "which")
        for at in (at for at, word in enumerate(spoken) if word in asking):
            behind = (one for one in spoken[at + 1 :] if number_of(one) is None and not one.isdecimal())
            yield stems(" ".join(behind))

    def _unnamed_of_rows(self) -> set[str]:
        """What need not be named where the rows are asked for: their key, and of those that are large or small the only
        number; "the latest" and "the longest" are of something else."""
        sized = any(self._language.functions[name].search(self._text) for name in _EXTREMES)
        numbers = self._table.numbers if sized and len(self._table.numbers) == 1 else ()
        return {self._table.key, *numbers} if self._is_of_rows() else set()

    def check_groups(self) -> None:
        """Refuse groups of which some are left out though no words ask for the first ones, and a count of what each of
        them has one of."""
        field, group_by = self.proposal.field, self.proposal.group_by
        if self.proposal.limit != MOST_GROUPS and not self._asks_for_extremes():
            raise FilterInvalid("The words ask for all groups, and the limit leaves some out.")
        if self.proposal.function == "distinct" and any(self._is_of(field, one) for one in group_by):
            raise FilterInvalid(f"Each group of {', '.join(group_by)} has one {field}.")

    def _asks_for_extremes(self) -> bool:
        said = _folded(*_EXTREMES.values()).intersection(words(self._text))
        return bool(said) or any(self._language.functions[name].search(self._text) for name in _EXTREMES)

    @staticmethod
    def _is_of(field: str, group: str) -> bool:
        """Whether `field` and `group` are one, or name the same thing: `customer` and `customers.name`."""
        return set(name_stems(field)) <= set(name_stems(group)) or set(name_stems(group)) <= set(name_stems(field))

    def _grouped_by(self) -> set[str]:
        """The fields that stand right behind what asks for groups, as in "per city"."""
        groups, asked = "|".join(map(re.escape, _folded("groups"))), fold(self.question)
        names = self._table.schema.fields
        return {name for name in names if re.search(rf"\b(?:{groups}) {re.escape(_as_said(name))}\b", asked)}

    def _numbered(self) -> list[str]:
        """The fields of conditions that are plain numbers, which may be of anything."""
        given = self.proposal.filters.items()
        return [name for name, one in given if any(str(value).isdecimal() for value in _operands(one))]

    def _names(self, name: str, text: str | None = None) -> bool:
        said = stems(self.question if text is None else text)
        return any(_is_form(one, word) for one in name_stems(name) for word in said)

    def check_negation(self) -> None:
        """Refuse a condition that rules nothing out where the words do, and one that does where they do not."""
        left, excluded = self._left, self._excluded
        denials = UserWords(left).denials
        denied = denials or not _all("contrast").isdisjoint(words(left)) or bool(_UNEQUAL.search(left))
        turned = self._bounds and not _folded("above", "below").isdisjoint(words(self.question))
        if not turned and (denials > len(excluded) or (denied and not excluded)):
            raise FilterInvalid("The words rule something out, and no condition does.")
        if (excluded and not denied) or any(map(self._denies, excluded)):
            raise FilterInvalid("A condition rules something out, and the words do not.")

    def _denies(self, value: Any) -> bool:
        """Whether a value denies by itself, or another one denies it: "not started" is one where "started" is."""
        if isinstance(value, bool):
            # "Not paid" rules out by itself, and a column that is called so says it once more.
            names = (name for name, one in self.proposal.filters.items() if value in _operands(one))
            return any(UserWords(spaced(name)).denials for name in names)
        every = chain.from_iterable(_said_of(name, spec) for name, spec in self._table.schema.fields.items())
        own = fold(str(value))
        return any(own in one and UserWords(one).denials for one in (own, *every))

    def check_conditions(self) -> None:
        """Refuse a choice that the conditions do not leave, a value that the words say of another field or not as
        often, and days that no condition holds."""
        spoken, given = words(self._left), [_operands(one) for one in self.proposal.filters.values()]
        if not _folded("either").isdisjoint(spoken) and not self._bounds and all(len(one) < 2 for one in given):
            raise FilterInvalid("The words say that one of two is enough, and no condition does.")
        for name, value in self._values():
            if self._is_of_another(name, value):
                raise FilterInvalid(f"The words do not say that {value!r} is one of {name}.")
        rest = _without(fold(self.question), self._other_names())
        for _, value in sorted(self._values(), key=lambda one: (one[1] not in rest, -len(one[1]))):
            is_said = value in rest if value in fold(self.question) else not set(stems(value)).isdisjoint(stems(rest))
            if not is_said or (UserWords(value).denials and value not in rest):
                raise FilterInvalid(f"The words do not say {value!r} for each condition that does.")
            rest = rest.replace(value, " ", 1)
        self._check_days()

    def _check_days(self) -> None:
        """Refuse days that no word names, or that no condition holds; a number of another condition is none."""
        dated, today = not set(self.proposal.filters).isdisjoint(self._table.days), datetime.now(UTC).date()
        others = (one for name, one in self.proposal.filters.items() if name not in self._table.days)
        rest = _without(self._text, [fold(str(value)) for one in others for value in _operands(one)])
        if dated is not bool(periods(rest, today)) and (dated or not _DIGITS.search(rest)):
            raise FilterInvalid("The words name days, and no condition does, or the other way round.")
        days = [str(value) for name in self._table.days for value in _operands(self.proposal.filters.get(name, []))]
        if dated and (unheld := next(_unheld(periods(rest, today), days), None)):
            raise FilterInvalid(f"No condition holds what the words say of {unheld.first} to {unheld.last}.")

    def _values(self) -> list[tuple[str, str]]:
        """The texts of conditions by field; of one of yes and no, its name."""
        given = ((name, value) for name, one in self.proposal.filters.items() for value in _operands(one))
        said = ((name, spaced(name) if isinstance(value, bool) else value) for name, value in given)
        days = self._table.days
        return [(name, fold(value)) for name, value in said if isinstance(value, str) and name not in days]

    def _other_names(self) -> list[str]:
        """What the table and the used fields are called, but for those of yes and no."""
        fields = self._table.schema.fields
        used = [name for name in self._used if fields.get(name, {}).get("type") != "boolean"]
        return [_as_said(name) for name in (self.proposal.table, *used)]

    def _is_of_another(self, name: str, value: str) -> bool:
        """Whether `value` may be said of another field than `name`, or say nothing, and `name` is not named for it."""
        fields = self._table.schema.fields.items()
        # "Is new" is said as "new", which may be a value of another.
        own = {value, *_said_of(name, self._table.schema.fields[name])} if value == _as_said(name) else {value}
        others = [one for one, spec in fields if one != name and not own.isdisjoint(_said_of(one, spec))]
        # "Not open" may be said of a column "open" though nothing can be asked of that.
        others += [one for one in self._table.unread if value == _as_said(one)]
        longer = [one for one in _said_of(name, self._table.schema.fields[name]) if one != value and value in one]
        if any(one in fold(self.question) for one in longer):
            return True
        says_nothing = set(stems(value)) <= self._language.filler_in(value) and not value.isdecimal()
        is_flag = value == _as_said(name)
        if says_nothing and not is_flag:
            return f"{_as_said(name)} {value}" not in fold(self.question).replace("=", " ").replace("  ", " ")
        apart = stems(_without(fold(self.question), [_as_said(self.proposal.table)]))
        return bool(others) and (is_flag or set(name_stems(name)).isdisjoint(apart))

    @cached_property
    def _left(self) -> str:
        """The question without the names of what is used and without values of conditions."""
        given = self.proposal.filters.values()
        return _without(self._text, [fold(str(value)) for one in given for value in _operands(one)])

    def unread(self) -> list[str]:
        """The words that the computation leaves out."""
        values = [str(one) for one in chain.from_iterable(map(_operands, self.proposal.filters.values()))]
        called = [fold(one) for one in (*map(spaced, (self.proposal.table, *self._used)), *values)]
        rest = fold(self.question)
        for one in sorted(filter(None, called), key=len, reverse=True):
            rest = re.sub(rf"\b{re.escape(one)}\b", " ", rest, count=1)
        # What stands there as it is called is gone; of the others, such as "order", "orders" may stand there.
        others = [one for one in called if not re.search(rf"\b{re.escape(one)}\b", fold(self.question))]
        forms = set(stems(" ".join(others)))
        # A number may be a word that says little elsewhere, as the Russian three is.
        held, said = self._held(), {one: word for word in words(rest) for one in stems(word) or _number_in(word)}
        left = [word for one, word in said.items() if one not in held and not any(_is_form(one, own) for own in forms)]
        numbers = set(_DIGITS.findall(_used(self.proposal)))
        # A number is held against conditions elsewhere.
        return [word for word in left if not _DIGITS.search(word) and _digits_of(word) not in numbers]

    def _held(self) -> set[str]:
        """The stems of words that only say how it is asked."""
        language, told = self._language, self._words_told()
        empty = chain.from_iterable(map(stems, language_words("follow_up", "empty")))
        return {*empty, *language.filler_in(fold(self.question)), *map(stem, told)}

    def _words_told(self) -> Iterator[str]:
        for pattern in self._language.functions.values():
            yield from chain.from_iterable(words(found.group()) for found in pattern.finditer(self._text))
        parts = {"distinct": self.proposal.function == "distinct", "groups": bool(self.proposal.group_by)}
        parts |= dict.fromkeys(_EXTREMES.values(), self._is_extreme()) | dict.fromkeys(("above", "below"), self._bounds)
        for name in (name for name, is_met in parts.items() if is_met):
            yield from chain.from_iterable(words(word) for word in language_words("computing", name))
        yield from self._words_of_sides()
        if self._excluded:
            yield from chain.from_iterable(as_phrase(phrase) for phrase in language_words("negation"))
        if not set(self.proposal.filters).isdisjoint(self._table.days):
            yield from self._words_of_days()

    def _words_of_sides(self) -> Iterator[str]:
        """The words of phrases such as "at least", where they stand together and a condition has a side."""
        asked = f" {' '.join(words(self.question))} " if self._bounds else ""
        for where, side in product(("before", "behind"), SIDES.values()):
            said = (words(phrase) for phrase in language_words("computing", "side", where, side))
            yield from chain.from_iterable(one for one in said if f" {' '.join(one)} " in asked)

    def _words_of_days(self) -> Iterator[str]:
        """The words of the question that name a day or a period."""
        today = datetime.now(UTC).date()
        units = {word for part in _parts_of_dates() for word in words(part)}
        yield from (one for one in words(self.question) if one in units or periods(one, today))


def _is_form(one: str, other: str) -> bool:
    """Whether two stems are of one word."""
    begun = len(one) >= SAME_BEGINNING and one[:SAME_BEGINNING] == other[:SAME_BEGINNING]
    return one == other or (begun and one.isalpha())


def _without(text: str, parts: Iterable[str]) -> str:
    """`text` without those that stand in it, the longest first."""
    names = sorted(filter(None, parts), key=len, reverse=True)
    return re.sub("|".join([rf"\b{re.escape(name)}\b" for name in names] or ["(?!)"]), " ", text)


def _unheld(said: Sequence[Period], days: Sequence[str]) -> Iterator[Period]:
    """The periods that are `said` and at none of whose ends one of `days` lies, but for those that hold another one, as
    "this year" does in "March this year"."""
    for one in said:
        # The year of one that has none is worked out elsewhere.
        own = slice(0 if one.year_said else len("2026-"), len("2026-03-01"))
        bounds = {day.isoformat()[own] for day in one.bounds()}
        inner = (other for other in said if other != one)
        if bounds.isdisjoint(day[own] for day in days) and not any(
            one.first <= other.first and other.last <= one.last for other in inner
        ):
            yield one


def _all(*path: str) -> set[str]:
    return set(map(fold, language_words(*path)))


def _folded(*names: str) -> set[str]:
    return {fold(word) for name in names for word in language_words("computing", name)}


def _number_in(word: str) -> list[str]:
    return [] if number_of(word) is None else [word]


def _digits_of(word: str) -> str:
    number = number_of(word)
    return f"{number:g}" if number else ""


def _parts_of_dates() -> Iterator[str]:
    for name in ("days", "last", "this", "ago"):
        yield from language_words("dates", name)
    for forms in (language_words("dates", "units", unit) for unit in ("day", "week", "month", "year")):
        yield from forms
    for forms in (language_words("dates", "quarters", quarter) for quarter in range(1, 5)):
        yield from forms
    yield from language_words("computing", "date")


def _place(said: Sequence[str], name: Collection[str]) -> int:
    return next((at for at, one in enumerate(said) if one in name), len(said))


def _said_of(name: str, spec: Mapping[str, Any]) -> list[str]:
    """What may be said of a field of few values, or of yes and no."""
    if spec.get("type") != "boolean":
        return [fold(str(one)) for one in spec.get("enum") or ()]
    # "is new" may be said as "new".
    return [_as_said(name), " ".join(word for word in words(_as_said(name)) if stems(word))]


def _operands(condition: Any) -> list[Any]:
    """All values of a condition."""
    if isinstance(condition, Mapping):
        return list(chain.from_iterable(map(_operands, condition.values())))
    return condition if isinstance(condition, list) else [condition]
