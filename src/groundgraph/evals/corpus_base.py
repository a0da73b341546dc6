"""A corpus as a knowledge base, kept from one evaluation to the next; of outlines, and in Weaviate, as well."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path

from groundgraph.core.chain import IngestChains
from groundgraph.core.document import Chunk, Document, Part
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import IngestError
from groundgraph.evals.dataset import Corpus
from groundgraph.graph.ingest_documents import Progress, ingest_documents
from groundgraph.graph.move_base import move_base
from groundgraph.ingest.builtin_chains import ContentAsMatchingText, ContentAsQualifyingText
from groundgraph.ingest.chunkers import WholeTextChunker, chunk_of, trimmed
from groundgraph.settings.settings import Settings
from groundgraph.sources import knowledge_base
from groundgraph.sources.knowledge_base import EmbeddedStore
from groundgraph.sources.weaviate_base import BasePlace, WeaviateStore
from groundgraph.text import words as text

# A corpus whose titles are heading paths ("Guide > Setup > Linux") as one document with these headings.
#
# So a topic index can be measured on it. The passages stay the chunks: what is found is the same as without headings.

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


# A corpus in Weaviate, for a configuration whose knowledge base is there.


def weaviate_prefix(settings: Settings, base: Path) -> str | None:
    """What the collections of the corpus whose embedded base is the file `base` are called; None without Weaviate."""
    if settings.knowledge_base is None or settings.knowledge_base.backend != "weaviate":
        return None
    return f"{settings.knowledge_base.weaviate.prefix}Evaluate_{re.sub('[^A-Za-z0-9]', '_', base.stem)}"


async def corpus_in_weaviate(settings: Settings, base: Path) -> None:
    """Move the embedded base in the file `base` into Weaviate, when the configuration's is there.

    Raises:
        IngestError: a passage cannot be written.
        SourceError: the server cannot answer.
    """
    prefix = weaviate_prefix(settings, base)
    if prefix is None or settings.knowledge_base is None:
        return
    embedded = EmbeddedStore(base)
    store = WeaviateStore(BasePlace.of(settings.knowledge_base.weaviate, prefix))
    try:
        moved = await move_base(embedded, store)
    finally:
        await embedded.close()
        await store.close()
    if moved.failed:
        name, reason = next(iter(moved.failed.items()))
        raise IngestError(f"passage '{name}' cannot be written into Weaviate: {reason}")


# A passage is one chunk, found by itself: title, space, text.
CHAINS = IngestChains(WholeTextChunker(), ContentAsQualifyingText(), ContentAsMatchingText())


async def corpus_base(
    corpus: Corpus,
    folder: Path,
    on_progress: Progress | None = None,
    embedder: Embedder | None = None,
    *,
    outline: bool = False,
) -> Path:
    """The file of the knowledge base with one chunk per passage of `corpus`, made in `folder` when it is not there.

    With `outline` the passages stand in one document under the headings that their titles name. The file gets its name
    only when it is complete, so an interrupted evaluation leaves nothing half done.

    Raises:
        IngestError: a passage cannot be taken in.
    """
    documents, chains = _documents(corpus), CHAINS
    if outline:
        document, chunker = outline_document(corpus)
        documents, chains = iter([document]), replace(CHAINS, chunker=chunker)
    path = folder / f"{corpus.file.stem}-{_key(corpus, embedder, chains)}.sqlite"
    if path.is_file():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    workshop = Path(tempfile.mkdtemp(prefix="unfinished-", dir=folder))
    try:
        made = workshop / "base.sqlite"
        report = await ingest_documents(made, documents, chains=chains, embedder=embedder, on_progress=on_progress)
        if report.failed:
            first = report.failed[0]
            raise IngestError(f"{corpus.file}: passage '{first['document']}' cannot be taken in: {first['reason']}")
        made.replace(path)
    finally:
        shutil.rmtree(workshop, ignore_errors=True)
    return path


def _documents(corpus: Corpus) -> Iterator[Document]:
    """The passages with a text; the others cannot be found anyway."""
    return (Document(passage.id, passage.text) for passage in corpus.passages if passage.text.strip())


def _key(corpus: Corpus, embedder: Embedder | None, chains: IngestChains) -> str:
    """What the base depends on: the content of the file, its vectors, and the code that stems and writes it."""
    parts = [corpus.digest, chains.signature, embedder.name if embedder else "", version("PyStemmer"), _code()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


@cache
def _code() -> str:
    files = [Path(str(text.__file__)), *sorted(Path(knowledge_base.__path__[0]).glob("*.py"))]
    return "\n".join(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)
