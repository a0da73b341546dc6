"""The id of a conversation, as a text that every checkpointer and store can keep."""

from __future__ import annotations

from groundgraph.core.clean_text import FORBIDDEN
from groundgraph.core.errors import InputInvalid


def checked_thread_id(thread_id: object) -> str:
    """`thread_id` as a text; a number or a UUID stands for what it is written as.

    Raises:
        InputInvalid: it holds NUL or a lone surrogate, which PostgreSQL and SQLite cannot write, or nothing at all.
    """
    text = str(thread_id)
    if not text:
        raise InputInvalid("The thread id is empty; give the conversation a name, for example 'visit-1'.")
    if text.isascii() and "\x00" not in text:
        return text
    if found := FORBIDDEN.search(text):
        raise InputInvalid(
            f"The thread id {ascii(text)[:120]} holds the character U+{ord(found[0]):04X} at place {found.start()}, "
            "which no database can write. Use another id, for example a UUID."
        )
    return text
