"""`groundgraph ingest --verify`: is every chunk of a base there, found, and as it was written?"""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING

from groundgraph.cli.exit_codes import DONE, DONE_WITH_FAILURES
from groundgraph.cli.find_settings import find_settings
from groundgraph.cli.output import counted, say, write_json
from groundgraph.cli.problem_places import problems_placed

if TYPE_CHECKING:
    from pathlib import Path

    from groundgraph.core.knowledge_store import Verified
    from groundgraph.sources.knowledge_base.store import EmbeddedStore
    from groundgraph.sources.weaviate_base import WeaviateStore


def verify_base(config: Path | None, source: str | None, *, as_json: bool) -> int:
    """Verify and repair the base, say what was found, and give the exit code.

    Raises:
        ConfigurationError: there is no such base.
        SourceError: the server cannot answer, or nothing was ever ingested.
        StorageLocked: another process is writing.
    """
    settings = find_settings(config).without_models()
    from groundgraph.graph.knowledge_base_files import knowledge_base_file

    with problems_placed(settings):
        base = knowledge_base_file(settings, source)
        store: EmbeddedStore | WeaviateStore
        if base.place is None:
            from groundgraph.sources.knowledge_base.store import EmbeddedStore

            store = EmbeddedStore(base.path)
        else:
            from groundgraph.graph.weaviate_store import weaviate_store

            store = weaviate_store(settings, base)
        found = asyncio.run(_verified(store))
    if as_json:
        write_json(asdict(found))
    else:
        say(
            f"{counted(found.documents, 'document')} with {counted(found.chunks, 'chunk')} looked at: "
            f"{found.repaired} repaired, {found.removed} left-over removed."
        )
        for what, names in (("Incomplete", found.incomplete), ("Altered", found.altered)):
            for name in names:
                say(f"{what}, so taken out; ingesting its file again writes it anew: {name}")
    return DONE_WITH_FAILURES if found.taken_out else DONE


async def _verified(store: EmbeddedStore | WeaviateStore) -> Verified:
    try:
        return await store.verify()
    finally:
        await store.close()
