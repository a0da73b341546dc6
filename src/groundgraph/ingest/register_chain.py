"""Making a chain of one's own known to the configuration."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableLambda

from groundgraph.answers.generate_queries import parse_queries
from groundgraph.core.chain import Match
from groundgraph.core.document import Chunk, Document, Part
from groundgraph.core.errors import ChainContractBroken, ConfigurationError, Problem
from groundgraph.core.evidence import SourceResult
from groundgraph.core.registry import nearest
from groundgraph.ingest import builtin_chains as _builtin_chains  # noqa: F401
from groundgraph.ingest.builtin_chains import REGISTRIES, ChainFactory, ChainOptions, Kind
from groundgraph.ingest.chunkers import chunk_of, paragraphs
from groundgraph.ingest.matching_texts import heading_path
from groundgraph.models.call_model import without_thoughts
from groundgraph.resilience.blocking import call_chain

# Texts that someone's own chunker returned, as chunks with exact offsets where they stand in the document.


def located_chunks(document: Document, pieces: Iterable[Chunk | str]) -> list[Chunk]:
    """`pieces` as chunks of `document`, numbered in order; empty texts are left out.

    A text is looked for behind the one before it, then anywhere in the body. One that does not stand there word for
    word is `derived`: somebody wrote it, and it spans the whole body. So is a chunk whose offsets do not give its text.
    """
    chunks: list[Chunk] = []
    behind = document.body_start
    for piece in pieces:
        if isinstance(piece, Chunk):
            chunk = replace(piece, position=len(chunks), derived=piece.derived or not _is_slice(document, piece))
        else:
            text = piece.strip()
            if not text:
                continue
            start = _found(document, text, behind)
            if start >= 0:
                behind = start + len(text)
            chunk = _chunk(document, text, start, len(chunks))
        chunks.append(chunk)
    return chunks


def _found(document: Document, text: str, behind: int) -> int:
    start = document.text.find(text, behind)
    return start if start >= 0 else document.text.find(text, document.body_start)


def _is_slice(document: Document, chunk: Chunk) -> bool:
    return document.text[chunk.start : chunk.end] == chunk.text


def _chunk(document: Document, text: str, start: int, position: int) -> Chunk:
    if start < 0:
        return Chunk(document, position, document.body_start, len(document.text), (), text, derived=True)
    part = next((part for part in document.parts if part.start <= start < part.end), Part(0, 0))
    return chunk_of(document, part, position, (start, start + len(text)))


# What the output of someone's own chain depends on, as far as its code shows.

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def source_signature(chain: Any) -> str:
    """A short hash of the code of a function or an object, or of what a Runnable is made of.

    The same in every process. What the code calls, and values that a closure holds, are not seen: give a signature of
    your own where these change.
    """
    text = "\n".join(_ADDRESS.sub("", part) for part in _parts(chain))
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _parts(chain: Any) -> Iterator[str]:
    # It loads every class that can be read back.
    from langchain_core.load import dumps

    if isinstance(chain, RunnableLambda):
        yield from (_code(getattr(chain, name)) for name in ("func", "afunc") if hasattr(chain, name))
    elif isinstance(chain, Runnable):
        yield dumps(chain)
    elif inspect.isroutine(chain):
        yield _code(chain)
    else:
        yield _code(type(chain))
        yield repr(chain)


def _code(function: Any) -> str:
    """The source, or the byte code and constants of what was never in a file."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        code = getattr(function, "__code__", None)
        named = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', repr(function))}"
        return f"{named} {code.co_code.hex()} {code.co_consts!r}" if code else named


# Functions, coroutine functions and LangChain Runnables in the place of a chain.
#
# A function is called as the protocol in `groundgraph.core.chain` says. A Runnable gets one mapping:
#
# =================  ==================================================================================
# chunker            `text`, `title`, `name`, `kind`, `metadata` of the document
# qualifying_text    the same, and `chunks`, a list of texts
# matching_text      `text` of the chunk, `qualifying_text`, `title`, `section` (the heading path)
# transformer        `query`
# reranker           `query`, `candidates`, a list of texts
# filter             `query`, `matches`, a list of mappings with `text`, `match_score`, `rerank_score`
# =================  ==================================================================================
#
# What comes back is read leniently: a chunker may give texts (see `located_chunks`), matching and qualifying texts may
# be one string, and a chat message counts as its text.

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


# Loaded first, so that nobody registers a name of groundgraph's own before it is reserved.


def register_chain(
    kind: Kind,
    name: str,
    chain: Any = None,
    *,
    factory: ChainFactory | None = None,
    signature: str = "",
    generated: bool = True,
) -> None:
    """Make a chain known under `name`, so that `chains:` in a configuration can ask for it.

    Args:
        kind: which of the six it is; the word under which `chains:` names it.
        name: not that of a built-in chain.
        chain: a function, a coroutine function, an object with `__call__`, or a LangChain Runnable; see `stand_in`.
        factory: in place of `chain`, what makes one out of `ChainOptions`.
        signature: for chains of an ingest, what their output depends on; a hash of their code when it is empty.
            Documents are processed again when it changes.
        generated: for matching texts, whether they are of another form than the chunk, so that the filter of match
            scores makes sense.

    Raises:
        ConfigurationError: the name is taken or reserved, or there is no such kind.
    """
    if kind not in REGISTRIES:
        known = list(REGISTRIES)
        message = f"there is no kind of chain '{kind}'.{nearest(kind, known)} Known: {', '.join(known)}."
        raise ConfigurationError([Problem(name, message)])
    if (chain is None) == (factory is None):
        raise ConfigurationError([Problem(name, "register either a chain or a factory")])
    if factory is None:
        made = stand_in(kind, chain, name, signature=signature, generated=generated)

        def factory(entry: ChainOptions) -> Any:
            entry.refuse_options()
            return made

    REGISTRIES[kind].register(name, factory)
