"""A retriever that takes as long as it is told, and notes when it begins and when it is cancelled."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever


class SlowRetriever(BaseRetriever):
    """Notes go to `notes`, a line each: what happened and when, in seconds since the epoch."""

    seconds: float
    notes: str

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        raise NotImplementedError

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        self._note("begun")
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self._note("cancelled")
            raise
        return [Document("OAuth has four grant types.", id="slow", metadata={"title": "OAuth"})]

    def _note(self, what: str) -> None:
        # Unbuffered and short: the event loop does not wait for it.
        with Path(self.notes).open("a") as file:
            file.write(f"{what} {time.time()}\n")


def notes_of(path: Path, what: str) -> list[float]:
    """When `what` happened."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [float(line.split()[1]) for line in lines if line.startswith(what)]
