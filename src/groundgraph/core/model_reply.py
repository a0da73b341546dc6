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
    "max_output_tokens": "length",
    "MAX_TOKENS": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    **dict.fromkeys(
        ("content_filter", "refusal", "SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "RECITATION"), "refusal"
    ),
}
# How the errors end that time-outs and broken connections are told by.
_PASSING = (
    "ConnectError",
    "ConnectionError",
    "TimeoutException",
    "APITimeoutError",
    "RemoteProtocolError",
    "ServerDisconnectedError",
    "ClientPayloadError",
)


def finish_reason(reply: AIMessage) -> str:
    """`length`, `refusal` or an empty string for a reply that ended by itself."""
    metadata = reply.response_metadata
    details = metadata.get("incomplete_details")
    named = [metadata.get(key) for key in ("finish_reason", "stop_reason", "done_reason")]
    named.append(details.get("reason") if isinstance(details, dict) else None)
    return _FINISH.get(str(next(filter(None, named), "")), "")


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
    for holder in _holders(error):
        for name in ("status_code", "status", "code"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    return None


def _holders(error: BaseException) -> list[Any]:
    """What may carry status and headers: the error or its response, or those of the SDK's that it stands for."""
    causes = [error, error.__cause__] if error.__cause__ else [error]
    return [holder for one in causes for holder in (one, getattr(one, "response", None)) if holder is not None]


def is_transient(error: BaseException) -> bool:
    """Whether the same call may succeed in a moment: time-outs, broken connections, 408, 429 and 5xx."""
    status = status_code(error)
    if status is not None:
        return status in (408, 425, 429) or status >= 500
    if isinstance(error, TimeoutError | ConnectionError):
        return True
    return type(error).__name__.endswith(_PASSING)


def retry_after(error: BaseException) -> float | None:
    """The seconds that a server asks to wait, from the `Retry-After` header of the response."""
    headers: Any = [getattr(holder, "headers", None) or {} for holder in _holders(error)]
    told = [one.get("retry-after") or one.get("Retry-After") for one in headers]
    value = next(filter(None, told), None)
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
