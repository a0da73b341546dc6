"""What providers say about a reply, in one vocabulary, and which of their errors pass."""

from __future__ import annotations

import email.utils
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage

_FINISH = {
    "length": "length",
    "max_tokens": "length",
    "MAX_TOKENS": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
    "SAFETY": "refusal",
}


def finish_reason(reply: AIMessage) -> str:
    """`length`, `refusal` or an empty string for a reply that ended by itself."""
    metadata = reply.response_metadata
    named = metadata.get("finish_reason") or metadata.get("stop_reason") or metadata.get("done_reason") or ""
    return _FINISH.get(str(named), "")


def refusal_text(reply: AIMessage) -> str:
    """The provider's refusal, when it sends one beside the content."""
    told = reply.additional_kwargs.get("refusal")
    if told:
        return str(told)
    blocks = reply.content if isinstance(reply.content, list) else []
    return "".join(
        str(block.get("refusal", "")) for block in blocks if isinstance(block, dict) and block.get("type") == "refusal"
    )


def status_code(error: BaseException) -> int | None:
    """The HTTP status that an SDK's exception carries, wherever it carries it."""
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "status", "code"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    return None


def is_transient(error: BaseException) -> bool:
    """Whether the same call may succeed in a moment: time-outs, broken connections, 408, 429 and 5xx."""
    status = status_code(error)
    if status is not None:
        return status in (408, 425, 429) or status >= 500
    if isinstance(error, TimeoutError | ConnectionError):
        return True
    name = type(error).__name__
    return name.endswith(
        ("ConnectError", "ConnectionError", "TimeoutException", "APITimeoutError", "RemoteProtocolError")
    )


def retry_after(error: BaseException) -> float | None:
    """The seconds that a server asks to wait, from the `Retry-After` header of the response."""
    headers: Any = getattr(getattr(error, "response", None), "headers", None) or getattr(error, "headers", None)
    value = headers.get("retry-after") if headers is not None else None
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        return _seconds_until(value)


def _seconds_until(date: str) -> float | None:
    try:
        return max(0.0, email.utils.parsedate_to_datetime(date).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None
