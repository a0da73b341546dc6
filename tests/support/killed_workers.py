"""An embedding model that ends its own process, as a lack of memory or an operator would."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from groundgraph.testing import NgramEmbeddings


class KillingEmbeddings(NgramEmbeddings):
    """Kills the process that embeds a text with the word "hostile": each time, or once where a `marker` is named."""

    def __init__(self, marker: Path | None) -> None:
        super().__init__(16)
        self.marker = marker

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        if any("hostile" in text for text in texts) and not (self.marker and self.marker.exists()):
            if self.marker:
                self.marker.write_text("killed")
            os.kill(os.getpid(), signal.SIGKILL)
        return self.embed_documents(texts)
