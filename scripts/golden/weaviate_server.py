"""What the recordings do on a Weaviate server by themselves, with its client alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from golden.records import Records

INDEXED_WITHIN = 120.0


def _client(url: str, grpc_port: int) -> Any:
    import weaviate

    where = urlsplit(url)
    host, secure = str(where.hostname), where.scheme == "https"
    return weaviate.use_async_with_custom(
        http_host=host,
        http_port=where.port or 80,
        http_secure=secure,
        grpc_host=host,
        grpc_port=grpc_port,
        grpc_secure=secure,
        skip_init_checks=True,
    )


async def remove(url: str, grpc_port: int, prefix: str) -> None:
    """Delete the collections whose names begin with `prefix`."""
    async with _client(url, grpc_port) as client:
        for name in await client.collections.list_all():
            if name.startswith(prefix):
                await client.collections.delete(name)


async def fill(url: str, grpc_port: int, name: str, records: Records, tenant_from: str = "") -> None:
    """Make the collection anew, with vectors that are searched one by one, so that nothing depends on an order.

    With `tenant_from` each record stands in the tenant that this field of it names, as far as Weaviate takes the name.
    """
    from weaviate.classes.config import Configure, VectorDistances

    flat = Configure.VectorIndex.flat(distance_metric=VectorDistances.COSINE)
    tenants = {_tenant(row, tenant_from) for row in records.rows} if tenant_from else {""}
    async with _client(url, grpc_port) as client:
        await client.collections.delete(name)
        made = await client.collections.create(
            name,
            properties=_properties(records),
            vector_config=Configure.Vectors.self_provided(vector_index_config=flat),
            multi_tenancy_config=Configure.multi_tenancy(enabled=bool(tenant_from)),
        )
        if tenant_from:
            await made.tenants.create(sorted(tenants))
        for tenant in sorted(tenants):
            own = [row for row in records.rows if not tenant or _tenant(row, tenant_from) == tenant]
            done = await (made.with_tenant(tenant) if tenant else made).data.insert_many(_objects(own, records))
            if done.has_errors:
                raise RuntimeError(f"Weaviate took not all of {name}: {next(iter(done.errors.values()))}")
    await until_indexed(url, grpc_port)


def _tenant(row: Mapping[str, Any], field: str) -> str:
    value = str(row[field])
    return value if value.isascii() and value.isalnum() else "other"


def _properties(records: Records) -> list[Any]:
    from weaviate.classes.config import DataType, Property, Tokenization

    kinds = {"date": DataType.DATE, "integer": DataType.INT, "number": DataType.NUMBER,
             "boolean": DataType.BOOL}  # fmt: skip
    # A text that is filtered by its whole value.
    exact: dict[str, Any] = {"data_type": DataType.TEXT, "tokenization": Tokenization.FIELD}
    own = {
        field: exact if spec["type"] == "string" else {"data_type": kinds[spec["type"]]}
        for field, spec in records.fields.items()
    }
    named = {"body": {"data_type": DataType.TEXT}, "key": exact, **own}
    return [Property(name=name, **options) for name, options in named.items()]


def _objects(rows: Sequence[Mapping[str, Any]], records: Records) -> list[Any]:
    from weaviate.classes.data import DataObject
    from weaviate.util import generate_uuid5

    vectors = records.vectors.embed_documents([str(row["body"]) for row in rows]) if records.vectors else None
    return [
        DataObject(
            properties={"key": row["id"], "body": row["body"], **_typed(row, records)},
            uuid=generate_uuid5(row["id"]),
            vector=vectors[number] if vectors else None,
        )
        for number, row in enumerate(rows)
    ]


def _typed(row: Mapping[str, Any], records: Records) -> dict[str, Any]:
    dates = {name for name, spec in records.fields.items() if spec["type"] == "date"}
    return {name: f"{row[name]}T00:00:00Z" if name in dates else row[name] for name in records.fields}


async def until_indexed(url: str, grpc_port: int) -> None:
    """Wait until no vector waits for its index: Weaviate acknowledges an object before.

    Raises:
        RuntimeError: that takes too long.
    """
    ends_at = time.monotonic() + INDEXED_WITHIN
    async with _client(url, grpc_port) as client:
        while time.monotonic() < ends_at:
            nodes = await client.cluster.nodes(output="verbose")
            if not any(shard.vector_queue_length for node in nodes for shard in node.shards or []):
                return
            await asyncio.sleep(0.1)
    raise RuntimeError(f"Weaviate has not indexed its vectors within {INDEXED_WITHIN:.0f} s")
