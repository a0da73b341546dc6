"""Whether a turn stands in its thread already, as a fork or again, and the review that a new question ends."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from langgraph._internal._constants import CONF, CONFIG_KEY_CHECKPOINTER, CONFIG_KEY_DURABILITY
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.config import get_config
from langgraph.runtime import ExecutionInfo, Runtime
from langgraph.store.base import BaseStore, Item, PutOp

from groundgraph.answers.provenance import BEGUN_AS, KEPT_AT, provenance_namespace, reader_notes, stored_record
from groundgraph.core.evidence import preview
from groundgraph.core.evidence_store import EvidenceStore, run_batch, stored_item, stored_items
from groundgraph.core.turn_values import Draft, Review, Turn, unread, withheld
from groundgraph.prompts import Prompts
from groundgraph.settings.context import Context
from groundgraph.settings.settings import Settings

# The saver that keeps the steps of the run a step belongs to.


def running_saver() -> BaseCheckpointSaver[Any] | None:
    """The saver of this run, which may be that of a parent graph or of a server; None when nothing is kept."""
    saver = get_config().get(CONF, {}).get(CONFIG_KEY_CHECKPOINTER)
    return saver if isinstance(saver, BaseCheckpointSaver) else None


def keeps_each_step() -> bool:
    """Whether the steps of this run are written while it is under way, and not only when it ends."""
    durability: str = get_config().get(CONF, {}).get(CONFIG_KEY_DURABILITY, "async")
    return durability != "exit"


# Sources of checkpoints that no step wrote: somebody edited a state, or ran it again.
_BRANCHES = ("update", "fork")
# The step before this one may still be on its way to the disk: so long, and in so many pieces, it is waited for.
_WAIT, _TRIES = 0.025, 40


@dataclass(frozen=True)
class Lineage:
    """One way in which a turn went.

    Attributes:
        kept_at: the checkpoint that the record was made behind, and its name space.
        own: what the record of a fork has of its own: its id and that of the turn in the thread's state, the record
            that it was forked from, and what was edited, also where that is nothing; nothing for a turn that went one
            way only.
    """

    kept_at: dict[str, str]
    own: dict[str, Any] = field(default_factory=dict)


async def lineage_of(turn: Turn, thread_id: str, store: BaseStore, info: ExecutionInfo) -> Lineage:
    """The lineage of the turn that is about to be recorded.

    Whoever resumes a turn that was killed records it again in the same place. A fork is told by this: the thread holds
    the end of the same turn already.

    Args:
        turn: a fork has the id of the turn that it was forked from, since its prompts are the same.
        thread_id: the thread.
        store: with the records of the thread.
        info: of the running step.
    """
    here, turn_id = kept_here(info), turn["id"]
    begun_again = await _of_edited_message(turn, thread_id, store)
    earlier, saver = await stored_item(store, provenance_namespace(thread_id), turn_id), running_saver()
    if earlier is None or saver is None or earlier.value.get(KEPT_AT) == here:
        return Lineage(here, begun_again)
    points = await _points(saver, thread_id, turn_id, {here["space"], earlier.value.get(KEPT_AT, here)["space"]}, here)
    # A review that the next question ended left a record and no end.
    reviewed = earlier.value.get("review", {}).get("decision") == "none"
    if not reviewed and not any(point.ends_turn for point in points.values()):
        return Lineage(here, begun_again)
    own = _of_fork(turn_id, here, points, await records_of_turn(store, thread_id, turn_id))
    return Lineage(here, {**own, "edited": turn["edited"]})


async def _of_edited_message(turn: Turn, thread_id: str, store: BaseStore) -> dict[str, Any]:
    """What the record of a turn has of its own that began again with its message edited."""
    left = turn["instead_of"]
    recorded = await stored_item(store, provenance_namespace(thread_id), left) if left else None
    return {"forked_from": left} if recorded else {}


def _of_fork(
    turn_id: str, here: Mapping[str, str], points: Mapping[str, _Point], records: Sequence[Item]
) -> dict[str, Any]:
    """What the record of a fork has of its own; see `Lineage`."""
    own = _chain(points, here["id"]) or _newest_chain(points)
    # What was recorded without the steps before it is known by its end.
    left = [_chain(points, end) for end, point in points.items() if point.ends_turn]
    branch = max((_shared(own, chain) for chain in left), default="")
    since = [point for point in own if point > branch]
    own_id = f"{turn_id}~{min(since, default=here['id'])}"
    nearest = {
        item.key: _shared(own, _chain(points, item.value.get(KEPT_AT, {}).get("id", "")))
        for item in records
        if item.key != own_id
    }
    return {
        "turn_id": own_id,
        BEGUN_AS: turn_id,
        "forked_from": max(nearest, key=lambda key: (nearest[key], key == turn_id), default=turn_id),
    }


async def records_of_turn(store: BaseStore, thread_id: str, turn_id: str) -> list[Item]:
    """The records of a turn of the thread's state: one for each way in which it went."""
    space = provenance_namespace(thread_id)
    first = await stored_item(store, space, turn_id)
    forks = await stored_items(store, space, filter={BEGUN_AS: turn_id}, limit=1000)
    # Some stores take a name space by its characters.
    return [*([first] if first else []), *(item for item in forks if item.namespace == space)]


@dataclass(frozen=True)
class _Point:
    """A checkpoint of the turn."""

    parent: str
    source: str
    ends_turn: bool


def kept_here(info: ExecutionInfo) -> dict[str, str]:
    """The checkpoint that the running step goes on from: its id, and where its graph keeps them within its parents."""
    return {"space": info.checkpoint_ns.rpartition("|")[0], "id": info.checkpoint_id}


async def _points(
    saver: BaseCheckpointSaver[Any], thread_id: str, turn_id: str, spaces: Iterable[str], here: Mapping[str, str]
) -> dict[str, _Point]:
    """The checkpoints of a thread that belong to the turn, and those between them and their parents, by id."""
    if keeps_each_step():
        place: Any = {"thread_id": thread_id, "checkpoint_ns": here["space"], "checkpoint_id": here["id"]}
        for _ in range(_TRIES):
            if await saver.aget_tuple({"configurable": place}) is not None:
                break
            await asyncio.sleep(_WAIT)
    found: dict[str, _Point] = {}
    for space in sorted(spaces):
        config: Any = {"configurable": {"thread_id": thread_id, "checkpoint_ns": space}}
        # Closed at once: what reads a file holds the saver's lock, which the run's own checkpoints wait for.
        async with aclosing(saver.alist(config)) as kept:  # type: ignore[type-var]
            async for one in kept:
                if (one.checkpoint["channel_values"].get("turn") or {}).get("id") == turn_id:
                    found[one.checkpoint["id"]] = _point(one)
    return found


def _point(one: CheckpointTuple) -> _Point:
    checkpoint = one.checkpoint
    written = set(checkpoint.get("updated_channels") or ())
    return _Point(
        (one.parent_config or {}).get("configurable", {}).get("checkpoint_id", ""),
        one.metadata.get("source", ""),
        # Only the last step writes a message and empties the draft; its outputs are no part of a resumed one's.
        written >= {"messages", "draft"} and "turn" not in written,
    )


def _chain(points: Mapping[str, _Point], last: str) -> list[str]:
    """A checkpoint and those before it, as far as they belong to the turn; none when it was never kept."""
    chain = []
    while last in points:
        chain.append(last)
        last = points[last].parent
    return chain


def _shared(one: Iterable[str], other: Iterable[str]) -> str:
    """The last checkpoint that two chains have in common; empty when there is none."""
    return max({*one} & {*other}, default="")


def _newest_chain(points: Mapping[str, _Point]) -> list[str]:
    """The chain of the newest checkpoint, where it is one that no step wrote: a run whose steps are kept when it ends
    began from there, as far as anybody can tell."""
    newest = max(points, default="")
    return _chain(points, newest) if newest and points[newest].source in _BRANCHES else []


# A new question on a thread whose last answer still waits for a person: that review ends, and both turns say so.


def waits_for_review(state: Any) -> bool:
    """Whether the turn in `state` waits for a person's decision, and can be recorded."""
    if not state.keys() >= {"turn", "intent", "ranking", "retrievals", "draft", "check"}:
        # What of a turn was damaged in storage is not there for the next one.
        return False
    draft = state["draft"]
    # What a person wrote may wait for them too.
    undecided = draft["review"] is None or draft["review"]["decision"] == "replace"
    return bool(draft["text"]) and undecided and state["check"]["verdict"] == "review"


async def end_review(
    state: Any, language: str, settings: Settings, prompts: Prompts, evidence: EvidenceStore, runtime: Runtime[Context]
) -> str:
    """Record the turn in `state`, whose answer was not given out; what the reader of the next is told in `language`.

    To decide after all, somebody goes on from the state in which the turn waited, as with any other fork.
    """
    turn, check = state["turn"], state["check"]
    review: Review = {"decision": "none", "score": check["score"]}
    # That a person wrote it is told of what was given out.
    said = [] if state["draft"]["review"] else state["draft"]["notes"]
    notes = [*said, prompts.note("review_ended", turn["language"])]
    draft: Draft = {**withheld(state["draft"]), "review": review, "notes": notes}
    left = {**state, "draft": draft, "check": unread(check)}
    info = runtime.execution_info
    store = evidence.store_of(runtime.store) if settings.store_provenance else None
    if store is not None and info is not None and info.thread_id is not None:
        space, record = provenance_namespace(info.thread_id), stored_record(left, [], info.thread_id)
        # What is there already was recorded when this step ran before, or by another way in which the turn went.
        if await stored_item(store, space, turn["id"]) is None:
            value = {**record, "notes": reader_notes(prompts.note, left), KEPT_AT: kept_here(info)}
            await run_batch(store, [PutOp(space, turn["id"], value, index=False)])
    return prompts.note("earlier_review_ended", language, question=preview(turn["question"]))
