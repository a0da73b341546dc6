"""The id of a conversation, as a text that every checkpointer and store can keep."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from groundgraph.core.characters import FORBIDDEN
from groundgraph.core.errors import FilterInvalid, InputInvalid
from groundgraph.core.registry import nearest

# By which names of their metadata a client may look for threads, and for the checkpoints of a thread.
#
# A saver turns the name into a part of its query: LangGraph's SQLite saver once let a client write SQL there. Names
# that nobody knows also find nothing, which looks as if nothing were there.

# What LangGraph and its server write into the metadata of threads, runs and checkpoints; `owner` is the user to whom
# a thread belongs, in `examples/serve`.
KNOWN_METADATA_KEYS = frozenset(
    {"assistant_id", "created_by", "cron_id", "graph_id", "owner", "parents", "run_id", "source", "step", "thread_id"}
)


def check_metadata_keys(metadata: Mapping[str, Any] | None, own: Collection[str] = ()) -> None:
    """Refuse a filter by unknown names.

    Args:
        metadata: the filter, by name; None filters nothing.
        own: names beside LangGraph's own, from `server.metadata_keys`.

    Raises:
        FilterInvalid: one of the names is not known.
    """
    known = sorted({*KNOWN_METADATA_KEYS, *own})
    for name in metadata or {}:
        if name not in known:
            raise FilterInvalid(
                f"Threads and their history cannot be looked for by '{str(name)[:100]}'.{nearest(str(name), known)} "
                f"Known: {', '.join(known)}. Add a name of your own to `server.metadata_keys`."
            )


def checked_thread_id(thread_id: object) -> str:
    """`thread_id` as a text; a number or a UUID stands for what it is written as.

    Raises:
        InputInvalid: it holds NUL or a lone surrogate, which PostgreSQL and SQLite cannot write, or nothing at all.
    """
    text = str(thread_id)
    if not text:
        raise InputInvalid("The thread id is empty; name the conversation: {'configurable': {'thread_id': 'visit-1'}}.")
    if text.isascii() and "\x00" not in text:
        return text
    if found := FORBIDDEN.search(text):
        raise InputInvalid(
            f"The thread id {ascii(text)[:120]} holds the character U+{ord(found[0]):04X} at place {found.start()}, "
            "which no database can write. Use another id, for example a UUID."
        )
    return text
