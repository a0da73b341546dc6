"""The shape of a step, of a stage before the retrieval that may fail among them, and the filters that hold in a run
whatever its intent says, those of a scope too."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from langchain_core.messages import AnyMessage
from langgraph.runtime import Runtime
from typing_extensions import TypedDict

from groundgraph.core.errors import ModelError, Problem, ScopeMissing
from groundgraph.core.evidence import jsonable
from groundgraph.core.failure import failure_of
from groundgraph.core.filters import check_filters
from groundgraph.core.intent import IntentState, StageFindings, StageReport
from groundgraph.core.registry import nearest
from groundgraph.core.schema import SourceSchema
from groundgraph.core.turn_values import Turn
from groundgraph.models.call_model import collect_chain_calls
from groundgraph.prompts import Prompts
from groundgraph.settings.context import Context, scope_in_force
from groundgraph.settings.settings import Settings

# Scope filters: conditions whose values come from the run, never from a message, a template or a model.

ORIGINS = ("context", "user")


def scope_problems(
    scope_filters: Mapping[str, Mapping[str, str]],
    default_filters: Mapping[str, Mapping[str, Any]],
    schemas: Mapping[str, SourceSchema | None],
) -> list[Problem]:
    """What is wrong with the scope filters: an unknown source, field or origin, or a field filtered twice."""
    problems: list[Problem] = []
    for source, fields in scope_filters.items():
        key = f"retrieval.scope_filters.{source}"
        schema = schemas.get(source)
        if source not in schemas:
            problems.append(Problem(key, f"there is no source '{source}'.{nearest(source, list(schemas))}"))
        elif schema is None:
            problems.append(Problem(key, "the source declares no schema, so nobody could enforce the filter"))
        for name, origin in fields.items():
            problems += _field_problems(f"{key}.{name}", name, origin, schema, default_filters.get(source, {}))
    return problems


def _field_problems(
    key: str, name: str, origin: str, schema: SourceSchema | None, defaults: Mapping[str, Any]
) -> list[Problem]:
    problems = []
    if schema is not None and name not in schema.fields:
        known = sorted(schema.fields)
        told = schema.lacks(name) if schema.unread else f"the source has no field '{name}'.{nearest(name, known)}"
        problems.append(Problem(key, told))
    if origin.partition(".")[0] not in ORIGINS or not origin.partition(".")[2]:
        problems.append(Problem(key, f"'{origin}' is no origin of a value; write context.NAME or user.NAME"))
    if name in defaults:
        problems.append(Problem(key, "the field has a default filter too; only one of them could hold"))
    return problems


def scope_values(
    scope_filters: Mapping[str, Mapping[str, str]], scope: Mapping[str, Any], user: Mapping[str, Any] | None
) -> dict[str, dict[str, Any]]:
    """The scope filters of a run, by source and field.

    Args:
        scope_filters: the configured origins.
        scope: `Context.scope`.
        user: the signed-in user on a server.

    Raises:
        ScopeMissing: the run brings no value for one of them.
    """
    found: dict[str, dict[str, Any]] = {}
    for source, fields in scope_filters.items():
        for name, origin in fields.items():
            value = _value_of(origin, scope, user)
            if value is None or value in ("", []):
                raise ScopeMissing(_missing(source, origin))
            found.setdefault(source, {})[name] = value
    return found


def _missing(source: str, origin: str) -> str:
    kind, _, name = origin.partition(".")
    told = f"sign in on a server as one who has '{name}'"
    if kind == "context":
        told = f"pass it in the context (scope: {{{name}: …}}) from Python or to a server; the command line passes none"
    return f"The source '{source}' may only be searched with a value for '{origin}'; this run brings none: {told}."


def _value_of(origin: str, scope: Mapping[str, Any], user: Mapping[str, Any] | None) -> Any:
    kind, _, name = origin.partition(".")
    return {"context": scope, "user": user or {}}[kind].get(name)


def scope_token(
    scope_filters: Mapping[str, Mapping[str, str]], scope: Mapping[str, Any], user: Mapping[str, Any] | None
) -> str:
    """The name of the scope that the evidence of a run belongs to; empty where no source has a scope filter.

    It is made of the values of all origins that the filters name, for every source alike: who may read what a turn
    found in one source may read all of the turn. The arguments are those of `scope_values`; a value that a run does not
    bring counts as one of its own, so nothing is shared with runs that need none.
    """
    named = {origin for fields in scope_filters.values() for origin in fields.values()}
    if not named:
        return ""
    values = {}
    for origin in named:
        value = jsonable(_value_of(origin, scope, user))
        # A filter takes the values of a list in any order.
        values[origin] = sorted(value, key=str) if isinstance(value, list) else value
    digest = hashlib.blake2b(json.dumps(values, sort_keys=True).encode(), digest_size=9).digest()
    return base64.urlsafe_b64encode(digest).decode()


# The filters that hold in a run whatever its intent says.


def signed_in(runtime: Runtime[Context]) -> dict[str, Any] | None:
    """What is known of the user that a server has authenticated, by name; None when there is none."""
    user = runtime.server_info.user if runtime.server_info else None
    # A user may be anything with an identity; the server's own are mappings, and false when they are empty.
    if user is None:
        return None
    known = {str(name): user[name] for name in user} if hasattr(user, "__iter__") else {}
    return {**known, "identity": user.identity}


def enforced_filters(
    settings: Settings, scope: Mapping[str, Any], user: Mapping[str, Any] | None
) -> dict[str, dict[str, Any]]:
    """Default filters and scope filters together, by source and field; no field has both.

    Raises:
        ScopeMissing: the run brings no value for a scope filter.
    """
    scoped = scope_values(settings.retrieval.scope_filters, scope, user)
    defaults = settings.intent.default_filters
    return {name: {**defaults.get(name, {}), **scoped.get(name, {})} for name in {**defaults, **scoped}}


def enforced_on(
    source: str,
    schema: SourceSchema | None,
    settings: Settings,
    scope: Mapping[str, Any],
    user: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Those of `enforced_filters` that hold in one source, in their plain form: a date in a file of settings, written
    without quotes, is no text.

    Raises:
        ScopeMissing: the run brings no value for a scope filter.
        FilterInvalid: the source cannot enforce one.
    """
    own = enforced_filters(settings, scope, user).get(source, {})
    return check_filters(schema, own, source=source) if own else {}


def evidence_scope(settings: Settings, runtime: Runtime[Context], options: dict[str, Any]) -> str:
    """The scope that a turn keeps its evidence in and may read it from; empty where there are no scope filters.

    Args:
        settings: with the scope filters.
        runtime: of the run, which may go on with a turn that another began.
        options: the choices that the turn began with.

    Raises:
        ScopeMissing: the run is in another scope than the turn.
    """
    filters = settings.retrieval.scope_filters
    return scope_token(filters, scope_in_force(options, runtime.context), signed_in(runtime)) if filters else ""


StateT_contra = TypeVar("StateT_contra", contravariant=True)
UpdateT_co = TypeVar("UpdateT_co", covariant=True)


class Node(Protocol[StateT_contra, UpdateT_co]):
    """A step of a graph: reads its part of the state, gives a partial update."""

    def __call__(self, state: StateT_contra, *, runtime: Runtime[Context]) -> Awaitable[UpdateT_co]:
        """The update."""


# A stage before the retrieval that may fail: the turn goes on with what it had, and the record says so.


class StageInput(TypedDict, total=False):
    """What such a stage reads."""

    messages: list[AnyMessage]
    metadata: dict[str, Any]
    turn: Turn
    intent: IntentState


class StageUpdate(TypedDict):
    """What such a stage writes: the intent with what it found, and a report."""

    intent: IntentState


@dataclass(frozen=True)
class Stage:
    """What a stage did.

    Attributes:
        report: for the record; its status is `ran` unless it says another.
        found: what joins the intent.
    """

    report: StageReport
    found: StageFindings = field(default_factory=StageFindings)


def skipped(reason: str) -> Stage:
    """A stage that has nothing to do."""
    return Stage({"status": "skipped", "reason": reason})


def model_stage(
    name: str,
    work: Callable[[StageInput, Runtime[Context]], Awaitable[Stage]],
    prompts: Prompts,
    *,
    without: StageFindings,
    note: str,
) -> Node[StageInput, StageUpdate]:
    """The step `name`: what `work` does; its time, its event, its model calls and its place in the record are written
    here, for every stage.

    Args:
        name: of the step.
        work: the stage; its ModelError is no error of the turn.
        prompts: hold the notes.
        without: what joins the intent when the model fails.
        note: tells the reader then what was done without it.
    """

    async def stage(state: StageInput, runtime: Runtime[Context]) -> StageUpdate:
        started = time.perf_counter()
        earlier = state["intent"]
        with collect_chain_calls() as calls:
            try:
                done = await work(state, runtime)
            except ModelError as error:
                told = prompts.note(note, state["turn"]["language"], reason=failure_of(error, "model"))
                found: StageFindings = {**without, "issues": [*earlier["issues"], told]}
                done = Stage({"status": "failed", "reason": str(error)}, found)
        elapsed = round((time.perf_counter() - started) * 1000, 3)
        report: StageReport = {"status": "ran", **done.report, "elapsed_ms": elapsed}
        intent: IntentState = {**earlier, **done.found}
        intent["stages"] = {**earlier["stages"], name: report}
        intent["calls"] = [*earlier["calls"], *calls]
        runtime.stream_writer({"stage": name, **report})
        return {"intent": intent}

    return stage


def asked(state: StageInput) -> str:
    """The question of the turn as one that stands on its own, where it was rewritten; else as the user put it."""
    return state["intent"]["rewritten"] or state["turn"]["question"]
