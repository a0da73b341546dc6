"""A corpus whose titles are heading paths ("Guide > Setup > Linux") as one document with these headings.

So a topic index can be measured on it. The passages stay the chunks: what is found is the same as without headings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from groundgraph.chains.parts import chunk_of, trimmed
from groundgraph.core.document import Chunk, Document, Part
from groundgraph.evals.dataset import Corpus

SEPARATOR = " > "
# The field of a chunk's metadata that names its passage.
PASSAGE = "passage"
_GAP = "\n\n"


@dataclass(frozen=True)
class PassageChunker:
    """Makes one chunk of each part, under the headings of its passage."""

    headings: Mapping[str, tuple[str, ...]] = field(repr=False)
    signature: str = "passages under headings 1"

    def __call__(self, document: Document, /) -> list[Chunk]:
        """The chunks of `document`, one for each passage."""
        return [
            chunk_of(document, part, number, *trimmed(document.text, part), self.headings[part.metadata[PASSAGE]])
            for number, part in enumerate(document.parts)
        ]


def outline_document(corpus: Corpus) -> tuple[Document, PassageChunker]:
    """`corpus` as a document, passages in the order of the file, and what cuts it into them again."""
    passages = [passage for passage in corpus.passages if passage.text.strip()]
    parts: list[Part] = []
    start = 0
    for passage in passages:
        parts.append(Part(start, start + len(passage.text), {PASSAGE: passage.id}))
        start += len(passage.text) + len(_GAP)
    text = _GAP.join(passage.text for passage in passages)
    headings = {passage.id: _headings(passage.text, passage.body) for passage in passages}
    return Document(corpus.name, text, parts=tuple(parts)), PassageChunker(headings)


def _headings(text: str, body: str) -> tuple[str, ...]:
    # A passage is title, space, body.
    title = text.removesuffix(body).strip()
    return tuple(title.split(SEPARATOR)) if title else ()
