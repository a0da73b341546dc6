"""One writer at a time, or one for each shard.

Weaviate has no transactions, but it refuses to make an object that is there: whoever makes the lock's object has the
lock. It is renewed while it is held; a lock that was not renewed for `LEASE` seconds, by the clock of whoever waits
for it, belongs to a process that was killed, and is taken over.

Who writes to the whole base and who writes to a shard keep out of each other's way: both take their own lock before
they look for the other's, so at least one of them sees it. The base keeps its lock and waits; a shard gives way.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from groundgraph.core.errors import GroundGraphError, StorageLocked
from groundgraph.sources.weaviate_base.objects import ids_of_all, own_id
from groundgraph.sources.weaviate_base.server import BaseServer

if TYPE_CHECKING:
    from weaviate import WeaviateAsyncClient

LEASE = 10.0
_EVERY = 0.2
_ID = own_id("lock", None)


@asynccontextmanager
async def writing(server: BaseServer, lock_timeout: float) -> AsyncIterator[None]:
    """Keeps other writers out inside, or out of the shard of `server`.

    Raises:
        StorageLocked: another writer held the lock for more than `lock_timeout` seconds, or took it over because this
            one could not renew it; what was under way is given up.
    """
    mine = _Lock(server, lock_timeout)
    await mine.take()
    held = asyncio.timeout(None)
    try:
        async with held:
            renewing = asyncio.ensure_future(mine.renew(held))
            try:
                await mine.wait_for_shards()
                yield
            finally:
                renewing.cancel()
                with contextlib.suppress(asyncio.CancelledError, GroundGraphError):
                    await renewing
    except TimeoutError as error:
        if not held.expired():
            raise
        raise StorageLocked(
            f"Another process took over the writing to the knowledge base {server.place.told}, since this one was not "
            f"heard of for {LEASE:g} s. What it was at is cleaned up; write it again."
        ) from error
    finally:
        with contextlib.suppress(GroundGraphError):
            # A server that is gone keeps the lock, which then runs out.
            await asyncio.shield(mine.give_back())


class _Lock:
    """The lock of one writer, from its taking to its giving back."""

    def __init__(self, server: BaseServer, lock_timeout: float) -> None:
        self._server = server
        self._id = own_id("lock", server.shard)
        self._owner = uuid.uuid4().hex
        self._lock_timeout = lock_timeout
        self._ends_at = time.monotonic() + lock_timeout

    async def take(self) -> None:
        """Take it as soon as nobody else has it, nor, for a shard, the base."""
        while True:
            while not await self._server.call(self._made):
                await self._wait_for([self._id])
                self._check_time()
            if self._server.shard is None or not await self._beats([_ID]):
                return
            await self.give_back()
            await self._wait_for([_ID])

    async def wait_for_shards(self) -> None:
        """Who has the lock of the base waits for those who write to its shards."""
        if self._server.shard is None:
            state = await self._server.find_state()
            if state is not None and state.sharded:
                await self._wait_for(ids_of_all("lock"))

    async def _wait_for(self, ids: Sequence[str]) -> None:
        """Wait until none of the locks with `ids` is there; those of writers that were killed are removed."""
        seen: dict[str, tuple[str, float]] = {}
        while beats := await self._beats(ids):
            now = time.monotonic()
            for id_, beat in beats.items():
                before, since = seen.get(id_, ("", now))
                if beat != before:
                    seen[id_] = (beat, now)
                elif now - since > LEASE:
                    await self._server.call(partial(self._break, id_, beat))
            self._check_time()
            await asyncio.sleep(_EVERY)

    def _check_time(self) -> None:
        if time.monotonic() > self._ends_at:
            raise StorageLocked(
                f"Another process has been writing to the knowledge base {self._server.place.told} for more than "
                f"{self._lock_timeout:g} s; what was written before is kept. Try again when it has ended."
            )

    async def renew(self, held: asyncio.Timeout) -> None:
        """Renew the lock now and then; end what is done under it when somebody else has it."""

        async def renewed(client: WeaviateAsyncClient) -> bool:
            if not await self._is_mine(client):
                return False
            await self._server.state_of(client).data.replace(self._id, {"value": self._owner, "beat": uuid.uuid4().hex})
            return True

        while True:
            await asyncio.sleep(LEASE / 4)
            # What this misses because of an outage, the write itself finds out.
            with contextlib.suppress(GroundGraphError):
                if not await self._server.call(renewed):
                    held.reschedule(asyncio.get_running_loop().time())
                    return

    async def give_back(self) -> None:
        """Let others have it; nothing when somebody has it already."""

        async def given_back(client: WeaviateAsyncClient) -> None:
            if await self._is_mine(client):
                await self._server.state_of(client).data.delete_by_id(self._id)

        await self._server.call(given_back)

    async def _made(self, client: WeaviateAsyncClient) -> bool:
        from weaviate.exceptions import UnexpectedStatusCodeError

        mark = {"value": self._owner, "beat": uuid.uuid4().hex}
        try:
            await self._server.state_of(client).data.insert(mark, uuid=self._id)
        except UnexpectedStatusCodeError as error:
            if error.status_code == 422 and "already exists" in str(error):
                return False
            raise
        return True

    async def _beats(self, ids: Sequence[str]) -> dict[str, str]:
        """By id, the owner and the last beat of those of the locks that somebody has."""

        async def fetched(client: WeaviateAsyncClient) -> dict[str, str]:
            # One by one, which needs no index that may have lost them.
            query = self._server.state_of(client).query
            found = await asyncio.gather(*map(query.fetch_object_by_id, ids))
            return {str(one.uuid): f"{one.properties['value']} {one.properties['beat']}" for one in found if one}

        return await self._server.call(fetched)

    async def _is_mine(self, client: WeaviateAsyncClient) -> bool:
        found = await self._server.state_of(client).query.fetch_object_by_id(self._id)
        return found is not None and str(found.properties["value"]) == self._owner

    async def _break(self, id_: str, beat: str, _: WeaviateAsyncClient) -> None:
        """Remove the lock of a writer that was killed, unless another that waited for it has taken it over already."""
        if (await self._beats([id_])).get(id_) == beat:
            await self._server.call(lambda client: self._server.state_of(client).data.delete_by_id(id_))
