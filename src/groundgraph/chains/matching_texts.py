"""The texts by which a chunk is found: the chunk with its heading path, or what a model writes about it (K5)."""

from __future__ import annotations

from dataclasses import dataclass

from groundgraph.chains.chain_model import ChainModel, Passage
from groundgraph.chains.generate_queries import parse_queries
from groundgraph.core.document import Chunk


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

    async def __call__(self, chunk: Chunk, qualifying_text: str) -> list[str]:  # noqa: ARG002 - the protocol's
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
