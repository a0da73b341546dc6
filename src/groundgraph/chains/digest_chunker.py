"""A chunker that does not cut a document but digests it: short pieces that a model writes (K5, K9)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from groundgraph.chains.chain_model import ChainModel, Passage
from groundgraph.core.call_chain import call_chain
from groundgraph.core.chain import Chunker
from groundgraph.core.document import Chunk, Document

_BULLET = re.compile(r"\A\s*(?:[-*•]|\(?\d{1,3}[.)](?!\d))\s+")
_BETWEEN = re.compile(r"\n\s*\n")
# What the prompt asks for when a stretch holds nothing worth keeping.
_NOTHING = re.compile(r"\W*none\W*", re.IGNORECASE)


@dataclass(frozen=True)
class DigestChunker:
    """Asks a model, stretch by stretch, for paragraphs that each hold one idea of the document.

    Args:
        model: the model.
        cut: cuts the document into the stretches that the model reads one at a time.
        prompt: its instructions.
    """

    model: ChainModel
    cut: Chunker
    prompt: str = "write_digest"

    @property
    def signature(self) -> str:
        """See `Chunker.signature`."""
        return f"digest 1 {self.cut.signature} {self.model.signature(self.prompt)}"

    async def __call__(self, document: Document) -> list[Chunk]:
        """The paragraphs as chunks, `derived`, each spanning the stretch that it was made from.

        Raises:
            ModelError: the model failed or refused.
        """
        chunks: list[Chunk] = []
        for stretch in await call_chain(self.cut, document):
            for paragraph in await self._digested(stretch):
                chunks.append(replace(stretch, position=len(chunks), text=paragraph, derived=True))
        return chunks

    async def _digested(self, stretch: Chunk) -> list[str]:
        passages = [Passage("title", stretch.document.title), Passage("document", stretch.text)]
        return paragraphs(await self.model.text(self.prompt, passages))


def paragraphs(reply: str) -> list[str]:
    """The paragraphs of a model's reply, each on one line; a list without blank lines gives its items."""
    pieces = [piece for piece in _BETWEEN.split(reply) if piece.strip()]
    lines = reply.splitlines()
    if len(pieces) == 1 and all(_BULLET.match(line) for line in lines if line.strip()):
        pieces = lines
    told = [" ".join(_BULLET.sub("", piece).split()) for piece in pieces]
    return [piece for piece in dict.fromkeys(told) if piece and not _NOTHING.fullmatch(piece) and piece[-1] != ":"]
