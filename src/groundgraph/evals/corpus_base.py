"""A corpus as a knowledge base, kept from one evaluation to the next."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path

from groundgraph.chains.chunk_whole_text import WholeTextChunker
from groundgraph.chains.identity_chains import ContentAsMatchingText, ContentAsQualifyingText
from groundgraph.core import text
from groundgraph.core.chain import IngestChains
from groundgraph.core.document import Document
from groundgraph.core.embedder import Embedder
from groundgraph.core.errors import IngestError
from groundgraph.evals.dataset import Corpus
from groundgraph.evals.outline_corpus import outline_document
from groundgraph.graph.ingest_documents import Progress, ingest_documents
from groundgraph.sources import knowledge_base

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
