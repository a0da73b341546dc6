"""The items of one user on a LangGraph Server, as a store."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from langgraph.store.base import BaseStore, GetOp, Item, Op, PutOp, Result, SearchItem, SearchOp
from langgraph_sdk.client import LangGraphClient
from typing_extensions import override

from groundgraph.serve.conversations import NotFound
from groundgraph.serve.server_errors import told_as_ours


class ServerStore(BaseStore):
    """What stands below `prefix` in the store of a server, by its own client.

    Args:
        client: signed in as the user.
        prefix: where the server lets the user write.
    """

    def __init__(self, client: LangGraphClient, prefix: tuple[str, ...]) -> None:
        self._client = client
        self._prefix = prefix

    @override
    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        return list(await asyncio.gather(*map(self._one, ops)))

    @override
    def batch(self, ops: Iterable[Op]) -> list[Result]:
        raise NotImplementedError("The server is asked asynchronously: use abatch.")

    async def _one(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return await self._get(op)
        if isinstance(op, SearchOp):
            return await self._search(op)
        if isinstance(op, PutOp):
            await self._put(op)
            return None
        raise NotImplementedError(f"{type(op).__name__} is asked of no server here.")

    async def _get(self, op: GetOp) -> Item | None:
        try:
            with told_as_ours():
                found: Any = await self._client.store.get_item([*self._prefix, *op.namespace], op.key)
        except NotFound:
            return None
        return Item(**self._kept(found)) if found else None

    async def _search(self, op: SearchOp) -> list[SearchItem]:
        space = [*self._prefix, *op.namespace_prefix]
        with told_as_ours():
            found = await self._client.store.search_items(space, filter=op.filter, limit=op.limit, offset=op.offset)
        return [SearchItem(**self._kept(item)) for item in found["items"]]

    async def _put(self, op: PutOp) -> None:
        space = [*self._prefix, *op.namespace]
        with told_as_ours():
            if op.value is None:
                await self._client.store.delete_item(space, op.key)
            else:
                await self._client.store.put_item(space, op.key, op.value, index=False)

    def _kept(self, item: Any) -> dict[str, Any]:
        times = {name: datetime.fromisoformat(str(item[name])) for name in ("created_at", "updated_at")}
        space = tuple(item["namespace"])[len(self._prefix) :]
        return {"value": item["value"], "key": item["key"], "namespace": space, **times}
