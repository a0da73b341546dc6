"""`groundgraph ingest --verify`: is every chunk of a base in Weaviate found?"""

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

    from groundgraph.sources.weaviate_base import WeaviateStore
    from groundgraph.sources.weaviate_base.verify import Verified


def verify_base(config: Path | None, source: str | None, *, as_json: bool) -> int:
    """Verify and repair the base, say what was found, and give the exit code.

    Raises:
        ConfigurationError: the base is embedded, or there is none.
        SourceError: the server cannot answer.
        StorageLocked: another process is writing.
    """
    settings = find_settings(config).without_models()
    from groundgraph.graph.knowledge_base_files import knowledge_base_file
    from groundgraph.graph.weaviate_store import weaviate_store

    with problems_placed(settings):
        store = weaviate_store(settings, knowledge_base_file(settings, source))
        found = asyncio.run(_verified(store))
    if as_json:
        write_json(asdict(found))
    else:
        say(
            f"{counted(found.documents, 'document')} with {counted(found.chunks, 'chunk')} looked at: "
            f"{found.repaired} repaired, {found.removed} left-over removed."
        )
        for name in found.incomplete:
            say(f"Incomplete, so taken out; the next ingest writes it anew: {name}")
    return DONE_WITH_FAILURES if found.incomplete else DONE


async def _verified(store: WeaviateStore) -> Verified:
    try:
        return await store.verify()
    finally:
        await store.close()
