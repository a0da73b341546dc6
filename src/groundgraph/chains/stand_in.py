"""Functions, coroutine functions and LangChain Runnables in the place of a chain (K3).

A function is called as the protocol in `groundgraph.core.chain` says. A Runnable gets one mapping:

=================  ==================================================================================
chunker            `text`, `title`, `name`, `kind`, `metadata` of the document
qualifying_text    the same, and `chunks`, a list of texts
matching_text      `text` of the chunk, `qualifying_text`, `title`, `section` (the heading path)
transformer        `query`
reranker           `query`, `candidates`, a list of texts
filter             `query`, `matches`, a list of mappings with `text`, `match_score`, `rerank_score`
=================  ==================================================================================

What comes back is read leniently: a chunker may give texts (see `located_chunks`), matching and qualifying texts may be
one string, and a chat message counts as its text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable

from groundgraph.chains.chain_model import without_thoughts
from groundgraph.chains.digest_chunker import paragraphs
from groundgraph.chains.generate_queries import parse_queries
from groundgraph.chains.located_chunks import located_chunks
from groundgraph.chains.matching_texts import heading_path
from groundgraph.chains.source_signature import source_signature
from groundgraph.core.call_chain import call_chain
from groundgraph.core.chain import Match
from groundgraph.core.document import Chunk, Document
from groundgraph.core.errors import ChainContractBroken
from groundgraph.core.evidence import SourceResult

_MOST_TEXTS = 50


def stand_in(kind: str, chain: Any, name: str, *, signature: str = "", generated: bool = True) -> Any:
    """`chain` as a chain of `kind`.

    Args:
        kind: `chunker`, `matching_text`, `qualifying_text`, `transformer`, `reranker` or `filter`.
        chain: a callable or a Runnable.
        name: stands in the signature and in messages.
        signature: what the output depends on; that of `chain`, or a hash of its code, when empty.
        generated: see `MatchingTexts.generated`; that of `chain` when it has one.

    Raises:
        TypeError: `chain` can be neither called nor invoked.
    """
    if not callable(chain) and not isinstance(chain, Runnable):
        raise TypeError(f"the chain '{name}' is neither a function nor a Runnable, but a {type(chain).__name__}")
    known = signature or str(getattr(chain, "signature", "") or source_signature(chain))
    return _KINDS[kind](chain, name, f"{name} {known}", bool(getattr(chain, "generated", generated)))


@dataclass(frozen=True)
class _StandIn:
    chain: Any
    name: str
    signature: str
    generated: bool

    async def _called(self, mapping: dict[str, Any], *arguments: Any) -> Any:
        if isinstance(self.chain, Runnable):
            return await self.chain.ainvoke(mapping)
        return await call_chain(self.chain, *arguments)

    def _broken(self, told: str) -> ChainContractBroken:
        return ChainContractBroken(f"the chain '{self.name}' {told}")

    def _list(self, given: Any, expected: int, what: str) -> list[Any]:
        found = list(given) if isinstance(given, Iterable) and not isinstance(given, str | dict) else None
        if found is None or len(found) != expected:
            returned = type(given).__name__ if found is None else f"{len(found)} of them"
            raise self._broken(f"must return {expected} {what}, not {returned}")
        return found


class _Chunker(_StandIn):
    async def __call__(self, document: Document) -> list[Chunk]:
        given = _unwrapped(await self._called(_document(document), document), paragraphs)
        if not isinstance(given, Iterable) or isinstance(given, str):
            given = [given]
        pieces = list(given)
        if not all(isinstance(piece, Chunk | str) for piece in pieces):
            raise self._broken("must return chunks or texts")
        return located_chunks(document, pieces)


class _QualifyingText(_StandIn):
    async def __call__(self, document: Document, chunks: Sequence[Chunk]) -> list[str]:
        mapping = {**_document(document), "chunks": [chunk.text for chunk in chunks]}
        given = _unwrapped(await self._called(mapping, document, chunks), lambda text: text)
        texts = [given] * len(chunks) if isinstance(given, str) else self._list(given, len(chunks), "texts")
        return [str(text) for text in texts]


class _MatchingTexts(_StandIn):
    async def __call__(self, chunk: Chunk, qualifying_text: str) -> list[str]:
        mapping = {
            "text": chunk.text,
            "qualifying_text": qualifying_text,
            "title": chunk.document.title,
            "section": heading_path(chunk),
        }
        given = await self._called(mapping, chunk, qualifying_text)
        given = _unwrapped(given, lambda text: parse_queries(text, _MOST_TEXTS))
        texts = [given] if isinstance(given, str) else list(given) if isinstance(given, Iterable) else []
        if not all(isinstance(text, str) for text in texts):
            raise self._broken("must return texts")
        kept = [text for text in dict.fromkeys(texts) if text.strip()]
        if not kept:
            raise self._broken("must return at least one text")
        return kept


class _Transformer(_StandIn):
    async def __call__(self, query: str) -> str:
        given = _unwrapped(await self._called({"query": query}, query), lambda text: text)
        if not isinstance(given, str):
            raise self._broken(f"must return a text, not {type(given).__name__}")
        return given


class _Reranker(_StandIn):
    async def __call__(self, query: str, candidates: Sequence[SourceResult]) -> list[float]:
        mapping = {"query": query, "candidates": [result.content for result in candidates]}
        scores = self._list(await self._called(mapping, query, candidates), len(candidates), "scores")
        wrong = [score for score in scores if not _is_share(score)]
        if wrong:
            raise self._broken(f"must return scores from 0 to 1, not {wrong[0]!r}")
        return [float(score) for score in scores]


class _Filter(_StandIn):
    async def __call__(self, query: str, matches: Sequence[Match]) -> list[bool]:
        shown = [
            {"text": match.result.content, "match_score": match.match_score, "rerank_score": match.rerank_score}
            for match in matches
        ]
        given = await self._called({"query": query, "matches": shown}, query, matches)
        return [bool(kept) for kept in self._list(given, len(matches), "decisions")]


_KINDS: dict[str, type[_StandIn]] = {
    "chunker": _Chunker,
    "qualifying_text": _QualifyingText,
    "matching_text": _MatchingTexts,
    "transformer": _Transformer,
    "reranker": _Reranker,
    "filter": _Filter,
}


def _document(document: Document) -> dict[str, Any]:
    return {
        "text": document.text[document.body_start :],
        "title": document.title,
        "name": document.name,
        "kind": document.kind,
        "metadata": document.metadata,
    }


def _unwrapped(given: Any, read: Callable[[str], Any]) -> Any:
    """What `read` makes of the text of a chat message; anything else as it is."""
    return read(without_thoughts(str(given.text))) if isinstance(given, BaseMessage) else given


def _is_share(score: Any) -> bool:
    try:
        return 0.0 <= float(score) <= 1.0
    except (TypeError, ValueError):
        return False
