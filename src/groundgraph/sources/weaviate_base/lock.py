"""One writer at a time.

Weaviate has no transactions, but it refuses to make an object that is there: whoever makes the lock's object has the
lock. It is renewed while it is held; a lock that was not renewed for `LEASE` seconds, by the clock of whoever waits for
it, belongs to a process that was killed, and is taken over.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from groundgraph.core.errors import GroundGraphError, StorageLocked
from groundgraph.sources.weaviate_base.server import BaseServer

if TYPE_CHECKING:
    from weaviate import WeaviateAsyncClient

LEASE = 10.0
_ID = str(uuid.uuid5(uuid.NAMESPACE_OID, "groundgraph lock"))
_EVERY = 0.2


@asynccontextmanager
async def writing(server: BaseServer, lock_timeout: float) -> AsyncIterator[None]:
    """Keeps other writers out inside.

    Raises:
        StorageLocked: another writer held the lock for more than `lock_timeout` seconds, or took it over because this
            one could not renew it; what was under way is given up.
    """
    owner = uuid.uuid4().hex
    await _take(server, owner, lock_timeout)
    held = asyncio.timeout(None)
    try:
        async with held:
            renewing = asyncio.ensure_future(_renew(server, owner, held))
            try:
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
            await asyncio.shield(server.call(lambda client: _given_back(server, client, owner)))


async def _take(server: BaseServer, owner: str, lock_timeout: float) -> None:
    ends_at = time.monotonic() + lock_timeout
    seen, seen_at = "", time.monotonic()
    while not await server.call(lambda client: _made(server, client, owner)):
        beat = await server.call(lambda client: _beat(server, client))
        now = time.monotonic()
        if beat != seen:
            seen, seen_at = beat, now
        elif beat and now - seen_at > LEASE:
            await server.call(partial(_break, server, seen))
            continue
        if now > ends_at:
            raise StorageLocked(
                f"Another process has been writing to the knowledge base {server.place.told} for more than "
                f"{lock_timeout:g} s; what was written before is kept. Try again when it has ended."
            )
        await asyncio.sleep(_EVERY)


async def _made(server: BaseServer, client: WeaviateAsyncClient, owner: str) -> bool:
    from weaviate.exceptions import UnexpectedStatusCodeError

    try:
        await server.state_of(client).data.insert({"value": owner, "beat": uuid.uuid4().hex}, uuid=_ID)
    except UnexpectedStatusCodeError as error:
        if error.status_code == 422 and "already exists" in str(error):
            return False
        raise
    return True


async def _beat(server: BaseServer, client: WeaviateAsyncClient) -> str:
    found = await server.state_of(client).query.fetch_object_by_id(_ID)
    return f"{found.properties['value']} {found.properties['beat']}" if found else ""


async def _owner(server: BaseServer, client: WeaviateAsyncClient) -> str:
    found = await server.state_of(client).query.fetch_object_by_id(_ID)
    return str(found.properties["value"]) if found else ""


async def _given_back(server: BaseServer, client: WeaviateAsyncClient, owner: str) -> None:
    if await _owner(server, client) == owner:
        await server.state_of(client).data.delete_by_id(_ID)


async def _break(server: BaseServer, seen: str, client: WeaviateAsyncClient) -> None:
    """Remove the lock of a writer that was killed, unless another that waited for it has taken it over already."""
    if await _beat(server, client) == seen:
        await server.state_of(client).data.delete_by_id(_ID)


async def _renew(server: BaseServer, owner: str, held: asyncio.Timeout) -> None:
    """Renew the lock now and then; end what is done under it when somebody else has it."""

    async def renewed(client: WeaviateAsyncClient) -> bool:
        if await _owner(server, client) != owner:
            return False
        await server.state_of(client).data.replace(_ID, {"value": owner, "beat": uuid.uuid4().hex})
        return True

    while True:
        await asyncio.sleep(LEASE / 4)
        # What this misses because of an outage, the write itself finds out.
        with contextlib.suppress(GroundGraphError):
            if not await server.call(renewed):
                held.reschedule(asyncio.get_running_loop().time())
                return
