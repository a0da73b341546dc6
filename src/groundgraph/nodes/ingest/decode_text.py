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


def decode_text(data: bytes) -> tuple[str, list[str]]:
    """The text of `data` with `\\n` as line end, and one sentence for each kind of repair.

    It is UTF-8, or UTF-16 with a byte order mark. Bytes that are neither and NUL become U+FFFD.

    Raises:
        IngestError: too much would have to be replaced.
    """
    text, warnings = _decoded(data)
    return _with_newlines(text), warnings


def decode_file(data: bytes) -> tuple[str, list[str], dict[str, Any]]:
    """As `decode_text`, and the metadata by which places in the text are places in the file (`Original`)."""
    text, warnings = _decoded(data)
    told: dict[str, Any] = {LINE_ENDS: ends} if (ends := line_ends(text)) != [] else {}
    if data.startswith(_UTF8_MARK):
        told[ENCODING] = "utf-8-sig"
    elif data.startswith(_UTF16_MARKS):
        told[ENCODING] = "utf-16"
    return _with_newlines(text), warnings, {FILE_TEXT: told} if told else {}


def _with_newlines(text: str) -> str:
    return re.sub(r"\r\n?", "\n", text) if "\r" in text else text


def _decoded(data: bytes) -> tuple[str, list[str]]:
    encoding, name = ("utf-16", "UTF-16") if data.startswith(_UTF16_MARKS) else ("utf-8-sig", "UTF-8")
    try:
        text, replaced = data.decode(encoding), 0
    except UnicodeDecodeError:
        text = data.decode(encoding, errors="replace")
        replaced = text.count(_REPLACEMENT) - data.count(_REPLACEMENT.encode())
    nuls = text.count("\0")
    if replaced + nuls > _MAX_REPLACED * len(text):
        raise IngestError(f"it is not {name} text")
    warnings = [f"{replaced} places that are not {name} were replaced"] if replaced else []
    warnings += [f"{nuls} NUL characters were replaced"] if nuls else []
    return text.replace("\0", _REPLACEMENT), warnings
