"""A computation that a model proposes for a question: read, held against the tables and the user's words, run."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from groundgraph.answers.account_words import check_words
from groundgraph.answers.extract_intent import AskExtractor, closed, condition_schema, objects_in, tokens_used
from groundgraph.answers.extracted_filters import EMPTY, extracted_filters
from groundgraph.answers.ground_fields import DateGround, UserWords
from groundgraph.core.computation import FUNCTIONS, MOST_GROUPS, ORDERS, ComputableTable, Proposal
from groundgraph.core.errors import FilterInvalid
from groundgraph.core.evidence import SourceResult
from groundgraph.models.call_model import note_chain_call, recorded_call, take_chain_call
from groundgraph.models.replies import prompt_messages
from groundgraph.prompts import Prompts
from groundgraph.settings.settings import Settings
from groundgraph.text.follow_up import language_words
from groundgraph.text.words import fold, name_stems, spaced, stems, words

NONE = "none"
_DIGITS = re.compile(r"\d+")
_SHOWN_CHARS = 4_000
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
    limit = given.get("limit") or MOST_GROUPS
    order, field = (str(given.get(name) or "") for name in ("order", "field"))
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
    used = json.dumps([proposal.filters, proposal.limit, proposal.group_by, proposal.field], default=str)
    numbers = _numbers(said.text) - _numbers(used)
    if numbers:
        raise FilterInvalid(f"The words say {', '.join(sorted(numbers))}, which is in no condition.")


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
            reply = await self._called(role, prompt, schema)
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

    async def _called(self, role: str, prompt: list[BaseMessage], schema: dict[str, Any]) -> Any:
        take_chain_call()
        return await recorded_call(
            role,
            self.ask.extractor,
            lambda: self.ask(prompt, schema),
            note_chain_call,
            partial(tokens_used, prompt),
            limit=self.settings.deadlines.model,
            attempts=self.settings.limits.attempts,
        )
