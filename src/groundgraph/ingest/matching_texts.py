"""The texts that stand for a chunk: those by which it is found, and what its document is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from groundgraph.answers.generate_queries import parse_queries
from groundgraph.core.document import Chunk, Document
from groundgraph.models.call_model import ChainModel, Passage
from groundgraph.text.words import sentences


def heading_path(chunk: Chunk) -> str:
    """The document's title and the headings above `chunk`, joined by " > "; a heading that repeats the title is one."""
    title = chunk.document.title
    path = [title, *chunk.headings] if title and title not in chunk.headings else chunk.headings
    return " > ".join(path)


@dataclass(frozen=True)
class ContentWithHeadings:
    """One matching text: the heading path, and below it the chunk. No model is called."""

    signature: str = "content 1"
    generated: bool = False

    def __call__(self, chunk: Chunk, qualifying_text: str) -> list[str]:  # noqa: ARG002 - the protocol's
        """The matching text of `chunk`."""
        return [with_headings(chunk)]


def with_headings(chunk: Chunk) -> str:
    """The heading path of `chunk` above its text."""
    path = heading_path(chunk)
    return f"{path}\n{chunk.text}" if path else chunk.text


@dataclass(frozen=True)
class WrittenMatchingTexts:
    """What a model writes about a chunk, one text a line: the questions that it answers, or descriptions.

    The model is told the qualifying text, which says what the chunk is part of.

    Args:
        model: the model.
        prompt: its instructions.
        with_content: whether the chunk with its heading path is a matching text too.
        at_most: texts of the model's that are kept.
    """

    model: ChainModel
    prompt: str = "write_questions"
    with_content: bool = True
    at_most: int = 20
    generated: bool = True

    @property
    def signature(self) -> str:
        """See `MatchingTexts.signature`."""
        return f"written 1 {self.prompt} {self.with_content} {self.at_most} {self.model.signature(self.prompt)}"

    async def __call__(self, chunk: Chunk, qualifying_text: str) -> list[str]:
        """The model's texts, then the content if it takes part; the content alone when the model has nothing to say.

        Raises:
            ModelError: the model failed or refused.
        """
        about = qualifying_text or heading_path(chunk)
        passages = [Passage("context", about), Passage("passage", chunk.text)]
        written = parse_queries(await self.model.text(self.prompt, passages), self.at_most)
        own = [with_headings(chunk)] if self.with_content or not written else []
        return list(dict.fromkeys([*written, *own]))


# What a document is about, so that a chunk keeps its meaning when it stands alone.

LEAD_CHARS = 300
# Where the first sentences are looked for: splitting a whole book for them would cost more than its chunks.
_LEAD_WITHIN = 3000
_LEFT_OUT = "\n[…]\n"


@dataclass(frozen=True)
class TitleHeadingsLead:
    """Title and heading path, and below them the first sentences of the document. No model is called.

    Args:
        lead_chars: characters that the first sentences may have together.
    """

    lead_chars: int = LEAD_CHARS

    @property
    def signature(self) -> str:
        """See `QualifyingText.signature`."""
        return f"document 1 {self.lead_chars}"

    def __call__(self, document: Document, chunks: Sequence[Chunk]) -> list[str]:
        """One text for each of `chunks`."""
        lead = first_sentences(document, self.lead_chars)
        return ["\n".join(part for part in (heading_path(chunk), lead) if part) for chunk in chunks]


def first_sentences(document: Document, limit: int) -> str:
    """The sentences at the beginning of `document`, without headings, as many as fit `limit` characters; at least the
    beginning of the first."""
    text = document.text[document.body_start : document.body_start + _LEAD_WITHIN]
    lead = ""
    for start, end in sentences(text):
        sentence = " ".join(text[start:end].split())
        if sentence.startswith("#") or sentence == document.title:
            continue
        longer = f"{lead} {sentence}".strip()
        if len(longer) > limit:
            break
        lead = longer
    return lead or _beginning(text, limit)


def _beginning(text: str, limit: int) -> str:
    words = " ".join(text.lstrip("# ").split())
    return words if len(words) <= limit else words[:limit].rpartition(" ")[0] or words[:limit]


@dataclass(frozen=True)
class Summary:
    """One summary of the document, written by a model once and used for all its chunks.

    Args:
        model: the model.
        prompt: its instructions.
        document_chars: characters of the document that the model reads; of a longer one, the beginning and the end.
    """

    model: ChainModel
    prompt: str = "write_summary"
    document_chars: int = 40_000

    @property
    def signature(self) -> str:
        """See `QualifyingText.signature`."""
        return f"summary 1 {self.document_chars} {self.model.signature(self.prompt)}"

    async def __call__(self, document: Document, chunks: Sequence[Chunk]) -> list[str]:
        """The summary, once for each of `chunks`.

        Raises:
            ModelError: the model failed or refused.
        """
        if not chunks:
            return []
        shown = shortened(document.text[document.body_start :], self.document_chars)
        summary = await self.model.text(self.prompt, [Passage("title", document.title), Passage("document", shown)])
        return [summary] * len(chunks)


@dataclass(frozen=True)
class PlaceInDocument:
    """What each chunk is about within its document, written by a model chunk by chunk.

    Args:
        model: the model.
        prompt: its instructions.
        document_chars: see `Summary`.
    """

    model: ChainModel
    prompt: str = "write_place"
    document_chars: int = 12_000

    @property
    def signature(self) -> str:
        """See `QualifyingText.signature`."""
        return f"place 1 {self.document_chars} {self.model.signature(self.prompt)}"

    async def __call__(self, document: Document, chunks: Sequence[Chunk]) -> list[str]:
        """One text for each of `chunks`.

        Raises:
            ModelError: the model failed or refused.
        """
        shown = shortened(document.text[document.body_start :], self.document_chars)
        return [await self._place(shown, chunk) for chunk in chunks]

    async def _place(self, shown: str, chunk: Chunk) -> str:
        passages = [
            Passage("document", shown),
            Passage("section", heading_path(chunk)),
            Passage("passage", chunk.text),
        ]
        return await self.model.text(self.prompt, passages)


def shortened(text: str, limit: int) -> str:
    """`text` when it fits `limit` characters, else three quarters of that from its beginning and the rest from its
    end."""
    if len(text) <= limit:
        return text
    tail = limit // 4
    return text[: limit - tail] + _LEFT_OUT + text[len(text) - tail :]
