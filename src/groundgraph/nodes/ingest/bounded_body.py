"""Reads the body of an answer without ever holding more than was agreed on."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterable, Iterator

from groundgraph.core.errors import PageFault

# A body that grows more than this when it is decompressed is taken for a bomb; web pages grow five to twenty times.
MAX_RATIO = 100
# Before this many bytes the ratio says nothing: a short page of one repeated line exceeds it, too.
_RATIO_FROM = 64 * 1024
_PIECE = 64 * 1024


class BodyRefused(Exception):
    """A body is too large, grows too much, or is damaged; the text says which. `reason` is one word for it."""

    def __init__(self, reason: PageFault, message: str) -> None:
        self.reason: PageFault = reason
        super().__init__(message)


async def bounded_body(chunks: AsyncIterable[bytes], *, encoding: str = "", max_bytes: int, cut: bool = False) -> bytes:
    """The body in `chunks`, decompressed piece by piece.

    Args:
        chunks: the bytes as they come from the network.
        encoding: their content encoding: none or gzip.
        max_bytes: the most that the body may have, as it comes and decompressed.
        cut: end the body at `max_bytes` and do not refuse it.

    Raises:
        BodyRefused: it has more, grows more than `MAX_RATIO` times, or is no gzip that ends.
    """
    decoder = _decoder(encoding)
    body = bytearray()
    received = 0
    async for chunk in chunks:
        received += len(chunk)
        for piece in decoder.pieces(chunk):
            body += piece
            if len(body) > max(_RATIO_FROM, MAX_RATIO * received):
                raise BodyRefused("too_large", f"decompressed it is more than {MAX_RATIO} times as large: a bomb")
            if len(body) > max_bytes:
                break
        if max(len(body), received) > max_bytes:
            if cut:
                return bytes(body[:max_bytes])
            raise BodyRefused("too_large", f"it has more than {max_bytes} bytes (web.max_bytes)")
    return bytes(body + decoder.end())


class _Plain:
    def pieces(self, data: bytes) -> Iterator[bytes]:
        yield data

    def end(self) -> bytes:
        return b""


class _Gzip:
    def __init__(self) -> None:
        self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """What `data` decompresses to, at most `_PIECE` bytes at a time."""
        while data:
            if self._member.eof:
                if not data.startswith(b"\x1f"):
                    return  # padding behind the last member
                self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
            try:
                yield self._member.decompress(data, _PIECE)
            except zlib.error as error:
                raise BodyRefused("content", f"it is damaged gzip ({error})") from error
            data = self._member.unconsumed_tail or self._member.unused_data

    def end(self) -> bytes:
        # What a full piece left inside zlib: a few hundred bytes at most.
        rest = self._member.flush()
        if not self._member.eof:
            raise BodyRefused("content", "its gzip ends too early")
        return rest


def _decoder(encoding: str) -> _Plain | _Gzip:
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return _Plain()
    if name in ("gzip", "x-gzip"):
        return _Gzip()
    raise BodyRefused("content", f"it is encoded as '{name}', which was not asked for")
