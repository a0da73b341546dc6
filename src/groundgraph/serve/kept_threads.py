"""Conversations in the graph's store: whose they are, their titles, and the tree of their turns."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Mapping
from typing import Any

from langgraph.store.base import BaseStore, Item, PutOp

from groundgraph.answers.provenance import conversation_namespace
from groundgraph.core.characters import clean_text
from groundgraph.core.evidence import preview
from groundgraph.serve.conversations import TITLE_CHARS, KeptTurn, NotFound, Thread, User
from groundgraph.storage.records import items_below

_ALL = conversation_namespace("-")[:-1]
_HEAD = "head"
_MOST = 1000
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


def own_name(user: User, thread: str) -> str:
    """What the graph calls the thread of a user: nobody can name one that is somebody else's.

    Raises:
        NotFound: no thread has such an id.
    """
    if not _ID.fullmatch(thread):
        raise NotFound("There is no such conversation.")
    if not user.identity:
        return thread
    return f"{hashlib.blake2b(user.identity.encode(), digest_size=12).hexdigest()}:{thread}"


class KeptThreads:
    """What the store holds of conversations, beside the records of their turns.

    Args:
        store: of the graph.
        settings: the `settings_hash` of the graph, which is kept with each turn; empty for none.
    """

    def __init__(self, store: BaseStore, settings: str = "") -> None:
        self._store = store
        self._settings = settings

    async def threads(self, user: User) -> list[Thread]:
        """See `Conversations.threads`."""
        found = await self._store.asearch(_ALL, filter={"kind": _HEAD, "owner": user.identity}, limit=_MOST)
        listed = [Thread(item.value["id"], item.value["title"], item.value["at"]) for item in found]
        return sorted(listed, key=lambda thread: thread.at, reverse=True)

    async def start(self, user: User, title: str, thread_id: str = "") -> Thread:
        """See `Conversations.start`; under an id that is there already, where one is given."""
        shown = preview(" ".join(clean_text(title).split()), TITLE_CHARS)
        thread = Thread(thread_id or secrets.token_hex(8), shown, time.time())
        await self._write(user, thread.id, _HEAD, {"kind": _HEAD, "owner": user.identity, **vars(thread)})
        return thread

    async def touch(self, user: User, thread: str) -> None:
        """The thread was asked in now.

        Raises:
            NotFound: there is none.
        """
        head = await self._read(user, thread, _HEAD)
        await self._write(user, thread, _HEAD, {**head, "at": time.time()})

    async def turns(self, user: User, thread: str) -> list[KeptTurn]:
        """See `Conversations.turns`."""
        await self._read(user, thread, _HEAD)
        return [_turn(value) for value in await self.nodes(user, thread)]

    async def nodes(self, user: User, thread: str) -> list[dict[str, Any]]:
        """The turns of a thread as they are kept, the oldest first."""
        space = conversation_namespace(own_name(user, thread))
        found = await self._store.asearch(space, filter={"kind": "turn"}, limit=_MOST)
        # Some stores take a prefix by its characters.
        return sorted((item.value for item in found if item.namespace == space), key=lambda value: value["at"])

    async def begin(self, user: User, thread: str, parent: str, question: str) -> str:
        """A turn that begins; its id."""
        turn = secrets.token_hex(6)
        value = {"kind": "turn", "owner": user.identity, "thread": thread, "id": turn, "parent": parent}
        kept = {"question": clean_text(question), "at": time.time(), "settings": self._settings}
        await self._write(user, thread, turn, {**value, **kept})
        return turn

    async def change(self, user: User, thread: str, turn: str, **values: Any) -> None:
        """Keep more about a turn."""
        await self._write(user, thread, turn, {**await self.node(user, thread, turn), **values})

    async def node(self, user: User, thread: str, turn: str) -> dict[str, Any]:
        """A turn as it is kept.

        Raises:
            NotFound: there is none.
        """
        value = await self._read(user, thread, turn)
        if value["kind"] != "turn":
            raise NotFound("There is no such turn.")
        return value

    async def find(self, user: User, said: str) -> tuple[str, str] | None:
        """See `Conversations.find`."""
        wanted = {"kind": "turn", "owner": user.identity, "said": said}
        found = await self._store.asearch(_ALL, filter=wanted, limit=_MOST)
        # The same may have been said in several conversations.
        last = max((item.value for item in found), key=lambda value: value["at"], default=None)
        return (last["thread"], last["id"]) if last else None

    async def keep_record(self, user: User, thread: str, turn: str, record: Mapping[str, Any]) -> None:
        """Keep the record of a turn beside it."""
        await self._write(user, thread, f"{turn}-record", {"kind": "record", "owner": user.identity, "record": record})

    async def record(self, user: User, thread: str, turn: str) -> dict[str, Any]:
        """What `keep_record` kept.

        Raises:
            NotFound: there is none.
        """
        found: dict[str, Any] = (await self._read(user, thread, f"{turn}-record"))["record"]
        return found

    async def forget(self, user: User, thread: str) -> None:
        """Remove everything that is kept of a thread."""
        space = conversation_namespace(own_name(user, thread))
        keys = [item.key async for item in items_below(self._store, space) if item.namespace == space]
        await self._store.abatch([PutOp(space, key, None) for key in keys])

    async def marked(self) -> list[list[dict[str, Any]]]:
        """Every turn of anybody that was marked, the oldest first, each behind the turns that it follows; with
        `graph_thread`, what the graph calls its thread."""
        kept = [item.value async for item in items_below(self._store, _ALL) if item.value["kind"] == "turn"]
        by_id = {(value["owner"], value["thread"], value["id"]): value for value in kept}
        marked = sorted((value for value in kept if value.get("mark") and "record" in value), key=lambda v: v["at"])
        return [_path(by_id, value) for value in marked]

    async def _read(self, user: User, thread: str, key: str) -> dict[str, Any]:
        item: Item | None = None
        if _ID.fullmatch(key):
            item = await self._store.aget(conversation_namespace(own_name(user, thread)), key)
        if item is None or item.value.get("owner") != user.identity:
            raise NotFound("There is no such conversation, or no such turn in it.")
        return item.value

    async def _write(self, user: User, thread: str, key: str, value: Mapping[str, Any]) -> None:
        space = conversation_namespace(own_name(user, thread))
        await self._store.abatch([PutOp(space, key, dict(value), index=False)])


def _path(by_id: Mapping[Any, Mapping[str, Any]], value: Mapping[str, Any]) -> list[dict[str, Any]]:
    named = {"graph_thread": own_name(User(value["owner"]), value["thread"])}
    path, last = [{**value, **named}], value
    # What a turn follows began before it, so this ends.
    while last["parent"]:
        last = by_id[last["owner"], last["thread"], last["parent"]]
        path.insert(0, {**last, **named})
    return path


def _turn(value: Mapping[str, Any]) -> KeptTurn:
    kept = {name: value[name] for name in ("outcome", "mark", "asked") if name in value}
    return KeptTurn(value["id"], value["parent"], value["question"], value["at"], **kept)
