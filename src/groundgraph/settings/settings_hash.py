"""A name for a configuration, by which answers of the same one are told from those of another."""

from __future__ import annotations

import hashlib

from groundgraph.settings.settings import Settings

# What says where things are kept and who sees what goes on, and nothing about an answer.
_BESIDE = {"checkpointer", "store", "server", "tracing", "store_provenance"}


def settings_hash(settings: Settings) -> str:
    """Eight hexadecimal digits of everything that can change an answer; of a folder of prompts by its path alone."""
    told = settings.model_dump_json(exclude=_BESIDE)
    return hashlib.blake2b(told.encode(), digest_size=4).hexdigest()
