"""A corpus as a knowledge base, kept from one evaluation to the next."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from groundgraph.chains.chunk_whole_text import WholeTextChunker
from groundgraph.core import text
from groundgraph.core.document import Document
from groundgraph.core.errors import IngestError
from groundgraph.evals.dataset import Corpus
from groundgraph.graph.ingest import Progress, ingest_documents
from groundgraph.sources.knowledge_base import schema, writer


async def corpus_base(corpus: Corpus, folder: Path, on_progress: Progress | None = None) -> Path:
    """The file of the knowledge base with one chunk per passage of `corpus`, made in `folder` when it is not there.

    It gets its name only when it is complete, so an interrupted evaluation leaves nothing half done.

    Raises:
        IngestError: a passage cannot be taken in.
    """
    path = folder / f"{corpus.file.stem}-{_key(corpus)}.sqlite"
    if path.is_file():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    workshop = Path(tempfile.mkdtemp(prefix="unfinished-", dir=folder))
    try:
        made = workshop / "base.sqlite"
        report = await ingest_documents(made, _documents(corpus), chunker=WholeTextChunker(), on_progress=on_progress)
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


def _key(corpus: Corpus) -> str:
    """What the base depends on: the content of the file, how it is cut, and the code that stems and writes it."""
    parts = [corpus.digest, WholeTextChunker().signature, version("PyStemmer")]
    parts += [hashlib.sha256(Path(str(module.__file__)).read_bytes()).hexdigest() for module in (text, schema, writer)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
