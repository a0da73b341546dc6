"""The shards of a base, in which many processes write to it at once: which document is in which, and their objects.

There are always `SHARDS`, whatever the number of processes, so that two ingests agree. The shard of a document is the
first bits of the id of its object in the ledger, which is in the order of its ids, so each shard is one stretch of it.
"""

from __future__ import annotations

import uuid
from urllib.parse import urlsplit

from groundgraph.sources.weaviate_base.objects import document_id

SHARDS = 64
_FREE_BITS = 122


def shard_of(name: str) -> int:
    """The shard of the document called `name`; the pages of one host share one, since one process keeps its pace."""
    host = urlsplit(name).netloc if "://" in name else ""
    return uuid.UUID(document_id(host or name)).int >> _FREE_BITS


def ids_before(shard: int) -> str:
    """The id after which the ids of `shard` begin."""
    return str(uuid.UUID(int=max(0, (shard << _FREE_BITS) - 1)))


def is_in(shard: int, id_: str) -> bool:
    """Whether an object of the ledger belongs to `shard` by its id."""
    return uuid.UUID(id_).int >> _FREE_BITS == shard


def own_id(what: str, shard: int | None) -> str:
    """The id of the object that holds `what`, "lock" or "state", of the base, or of one shard."""
    part = "" if shard is None else f" of shard {shard}"
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"groundgraph {what}{part}"))


def ids_of_all(what: str) -> list[str]:
    """The ids of the objects that hold `what` of every shard."""
    return [own_id(what, shard) for shard in range(SHARDS)]
