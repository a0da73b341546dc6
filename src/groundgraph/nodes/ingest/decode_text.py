"""The text in the bytes of a file."""

from __future__ import annotations

import re
from typing import Any

from groundgraph.core.errors import IngestError
from groundgraph.core.line_ends import LINE_ENDS, line_ends
from groundgraph.core.original import ENCODING, FILE_TEXT

_REPLACEMENT = "\ufffd"
_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
# Beyond this share of bytes that are not UTF-8, a file is in another encoding or no text at all.
_MAX_REPLACED = 0.1
# Fewer bytes do not tell an encoding.
_TELLING = 16


def decode_text(data: bytes) -> tuple[str, list[str]]:
    """The text of `data` with `\\n` as line end, and one sentence for each kind of repair.

    It is UTF-8, or UTF-16 with a byte order mark, or else in the encoding that charset-normalizer takes it for, which a
    sentence tells. Bytes that are neither and NUL become U+FFFD.

    Raises:
        IngestError: too much would have to be replaced.
    """
    text, warnings, _ = _decoded(data)
    return _with_newlines(text), warnings


def decode_file(data: bytes) -> tuple[str, list[str], dict[str, Any]]:
    """As `decode_text`, and the metadata by which places in the text are places in the file (`Original`)."""
    text, warnings, encoding = _decoded(data)
    told: dict[str, Any] = {LINE_ENDS: ends} if (ends := line_ends(text)) != [] else {}
    if encoding != "utf-8":
        told[ENCODING] = encoding
    return _with_newlines(text), warnings, {FILE_TEXT: told} if told else {}


def _with_newlines(text: str) -> str:
    return re.sub(r"\r\n?", "\n", text) if "\r" in text else text


def _decoded(data: bytes) -> tuple[str, list[str], str]:
    """The text, what is said about it, and its encoding."""
    encoding = "utf-16" if data.startswith(_UTF16_MARKS) else "utf-8-sig" if data.startswith(_UTF8_MARK) else "utf-8"
    try:
        text, replaced = data.decode(encoding), 0
    except UnicodeDecodeError:
        text = data.decode(encoding, errors="replace")
        replaced = text.count(_REPLACEMENT) - data.count(_REPLACEMENT.encode())
    nuls = text.count("\0")
    refused = replaced + nuls > _MAX_REPLACED * len(text)
    # Text in UTF-8 that was damaged has other characters that are whole.
    foreign = replaced + nuls >= _TELLING and text.replace(_REPLACEMENT, "").isascii()
    if encoding == "utf-8" and (refused or foreign) and (detected := _detected(data)):
        return detected[0], [f"it was read as {detected[1]}, by what it holds"], detected[1]
    name = encoding.removesuffix("-sig").upper()
    if refused:
        raise IngestError(f"it is not {name} text")
    warnings = [f"{replaced} places that are not {name} were replaced"] if replaced else []
    warnings += [f"{nuls} NUL characters were replaced"] if nuls else []
    return text.replace("\0", _REPLACEMENT), warnings, encoding


def _detected(data: bytes) -> tuple[str, str] | None:
    """The text of `data` in the encoding that it is likeliest in, and its name; None for what is hardly text."""
    # Not loaded for text in UTF-8.
    from charset_normalizer import from_bytes

    best = from_bytes(data).best()
    try:
        text = data.decode(best.encoding) if best else ""
    except UnicodeDecodeError:
        # Of a long text, samples are looked at.
        return None
    return (text, best.encoding) if best and text and "\0" not in text else None
