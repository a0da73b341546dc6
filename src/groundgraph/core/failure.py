"""What an exception of somebody else's code is told as: its class to the reader, its masked text to log and record;
and which may pass.

The text of an exception may quote a key, a question, or a text that only another tenant may see. So a note for a
reader is put together from a `Failure`; `Told.text` is for whoever runs the thing.
"""

from __future__ import annotations

import email.utils
import errno
import logging
import socket
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypeVar

from typing_extensions import TypedDict

from groundgraph.core import errors
from groundgraph.core.characters import clean_text
from groundgraph.core.secret_mask import mask

# Which errors of providers pass.

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


# The status that an error stands for which a service tells within a stream, behind the status of a success.
_STATUS_OF = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "timeout_error": 408,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "overloaded_error": 529,
}


def status_code(error: BaseException) -> int | None:
    """The HTTP status that an SDK's exception carries, wherever it carries it; that of a failure of the service's own
    where it tells an error of no known kind in the middle of its answer."""
    carried = (getattr(holder, name, None) for holder in _holders(error) for name in ("status_code", "status", "code"))
    return next(filter(_is_failure, carried), None) or _told_status(getattr(error, "body", None))


def _is_failure(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 400


def _told_status(body: Any) -> int | None:
    """The status that the `body` of an answer stands for when it tells an error; None when it tells none."""
    told = body.get("error", body) if isinstance(body, dict) else None
    if not isinstance(told, dict) or "message" not in told:
        return None
    kinds = (told.get(name) for name in ("type", "code"))
    return next((_STATUS_OF[kind] for kind in kinds if isinstance(kind, str) and kind in _STATUS_OF), 500)


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


_LOG = logging.getLogger("groundgraph")
_MOST_CHARS = 300
# What is looked at of an endless text.
_READ_CHARS = 20_000

Kind = Literal[
    "timeout",
    "unreachable",
    "never_ingested",
    "newer",
    "damaged",
    "broken",
    "refused",
    "limited",
    "rejected",
    "changed",
    "tenant",
    "scope",
    "filter",
    "contract",
    "embeddings",
    "configuration",
    "unreadable",
    "bug",
    "said",
    "other",
]
# Who failed, as notes name it.
Part = Literal["source", "model", "step"]
# The service itself failed, whoever asked it and for what.
OF_THE_SERVICE: frozenset[Kind] = frozenset({"timeout", "unreachable", "broken"})
# What was asked for does not suit; the service is well.
OF_THE_QUESTION: frozenset[Kind] = frozenset({"tenant", "scope", "filter"})
# It stays so until somebody changes something, so that asking again later does not help.
LASTING: frozenset[Kind] = frozenset({"newer", "damaged", "changed", "configuration", "refused"})


class Failure(TypedDict):
    """The class of a failure, as it may stand in a state.

    `kind` chooses the words of a note, `type` is the name of the exception's class, `status` that of HTTP. `said` is
    our own sentence about a reply of a model.
    """

    kind: Kind
    type: str
    part: Part
    status: NotRequired[int]
    said: NotRequired[str]


@dataclass(frozen=True)
class Told:
    """An exception as it may be told: `failure` to readers, `text`, which is masked, to log and record."""

    failure: Failure
    text: str


_TYPED: tuple[tuple[type[Exception], Kind], ...] = (
    (errors.NeverIngested, "never_ingested"),
    (errors.SchemaVersionUnsupported, "newer"),
    (errors.SourceUnavailable, "unreachable"),
    (errors.StorageUnavailable, "unreachable"),
    (errors.StorageLocked, "unreachable"),
    (errors.SourceTimeout, "timeout"),
    (errors.SchemaChanged, "changed"),
    (errors.TenantUnknown, "tenant"),
    (errors.ScopeMissing, "scope"),
    (errors.FilterInvalid, "filter"),
    (errors.SourceContractBroken, "contract"),
    (errors.ChainContractBroken, "contract"),
    (errors.RerankerFailed, "contract"),
    (errors.EmbeddingFailed, "embeddings"),
    (errors.EmbeddingModelChanged, "embeddings"),
    (errors.ConfigurationError, "configuration"),
    (errors.GroundGraphError, "other"),
    (TimeoutError, "timeout"),
    (ConnectionError, "unreachable"),
    # A name that cannot be resolved is the network's, a file that may not be read is not.
    (socket.gaierror, "unreachable"),
    (socket.herror, "unreachable"),
)
# What clients of services call their errors, in the class itself or in one of those it derives from.
_NAMED: tuple[tuple[str, Kind], ...] = (
    ("Timeout", "timeout"),
    ("TimedOut", "timeout"),
    ("DeadlineExceeded", "timeout"),
    ("ConnectError", "unreachable"),
    ("ConnectionError", "unreachable"),
    ("ConnectionClosed", "unreachable"),
    ("ConnectionException", "unreachable"),
    ("Unavailable", "unreachable"),
    ("TransportError", "unreachable"),
    ("NetworkError", "unreachable"),
    ("ProtocolError", "unreachable"),
    ("PayloadError", "unreachable"),
    ("OperationalError", "unreachable"),
    ("InterfaceError", "unreachable"),
)
# SQLITE_CORRUPT and SQLITE_NOTADB, without loading sqlite3.
_DAMAGED = (11, 26)
# What the SDK of a model raises over a reply that is none.
_UNREADABLE = frozenset({"JSONDecodeError", "UnicodeDecodeError", "RecursionError"})
# What LangChain says of a stream that holds no event, as a page of a web server does that is no model's.
_NO_CHUNKS = "No generation chunks were returned"
_NETWORK = frozenset(
    {errno.ECONNREFUSED, errno.ECONNRESET, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN, errno.EPIPE}
)

_logged: ContextVar[set[tuple[str, ...]] | None] = ContextVar("groundgraph_bugs_logged", default=None)


@contextmanager
def bugs_logged_once(seen: set[tuple[str, ...]]) -> Iterator[None]:
    """Inside, the traceback of a bug that is in `seen` is not logged again."""
    token = _logged.set(seen)
    try:
        yield
    finally:
        _logged.reset(token)


def tell_failure(error: BaseException, part: Part, name: str) -> Told:
    """What `error`, which `part` called `name` raised, is told as; it is logged, a bug with its traceback."""
    found = Told(failure_of(error, part), text_of(error))
    if isinstance(error, errors.ModelError):
        # The call of the model has logged what it hides.
        return found
    if found.failure["kind"] == "bug":
        _log_bug(error, part, name)
    else:
        # The owner of a source has to mend it; a model or a step that fails has another to stand in for it.
        _LOG.log(
            logging.WARNING if part == "source" else logging.INFO,
            "The %s '%s' failed: %s",
            part,
            name,
            _logged_text(error),
        )
    return found


def failure_of(error: BaseException, part: Part) -> Failure:
    """The class of `error`."""
    if isinstance(error, errors.ModelError):
        if isinstance(error.__cause__, Exception) and not isinstance(error, errors.ModelTimeout):
            return failure_of(error.__cause__, part)
        # Our own sentence, about a limit or a reply.
        return {"kind": "said", "type": type(error).__name__, "part": part, "said": text_of(error)}
    if type(error) is errors.StrategyUnavailable:
        return {"kind": "said", "type": type(error).__name__, "part": part, "said": text_of(error)}
    status = status_code(error)
    found: Failure = {"kind": "other", "type": clean_text(type(error).__name__)[:100], "part": part}
    of_class = "damaged" if _is_of_damage(error) else _of_class(error, part)
    # A service says 404 of what these name: a collection that is gone, a tenant.
    if status is not None and 400 <= status < 600 and of_class not in LASTING | OF_THE_QUESTION:
        found["status"] = status
        found["kind"] = _of_status(status)
    else:
        found["kind"] = of_class
    return found


def text_of(error: BaseException) -> str:
    """The text of `error` without secrets, in one line of at most 300 characters, with the status that it carries; the
    name of its class when it has none."""
    text = " ".join(mask(clean_text(str(error))[:_READ_CHARS]).split())[:_MOST_CHARS] or type(error).__name__
    status = status_code(error)
    return f"{text} (status {status})" if status else text


def described(error: BaseException) -> str:
    """`error` in one line without secrets: its class, the status that it carries, its text; at most 200 characters."""
    status = status_code(error)
    first = next((line for line in mask(clean_text(str(error))[:_READ_CHARS]).splitlines() if line.strip()), "")
    kind = type(error).__name__ + (f" {status}" if status else "")
    return f"{kind}: {first.strip()}"[:200] if first else kind


def _logged_text(error: BaseException) -> str:
    """`error` for a log: as `described`, and whole where it is an error of ours, which says what to do."""
    own = isinstance(error, errors.GroundGraphError)
    return f"{type(error).__name__}: {mask(str(error))[:_READ_CHARS]}" if own else described(error)


def _of_status(status: int) -> Kind:
    if status in (401, 403):
        return "refused"
    if status == 408:
        return "timeout"
    return "broken" if status >= 500 else "limited" if status == 429 else "rejected"


def _is_of_network(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in _NETWORK


def _of_class(error: BaseException, part: Part) -> Kind:
    for typed, kind in _TYPED:
        if isinstance(error, typed):
            return kind
    if _is_of_network(error):
        return "unreachable"
    names = [base.__name__ for base in type(error).__mro__]
    if named := _named(names):
        return named
    if part == "model" and (not _UNREADABLE.isdisjoint(names) or _NO_CHUNKS in str(error)):
        return "unreadable"
    return "other" if isinstance(error, OSError) else "bug"


def _is_of_damage(error: BaseException) -> bool:
    """Whether `error` comes of a file of SQLite that is damaged, or is no database."""
    causes = (error, error.__cause__, getattr(error.__cause__, "orig", None))
    codes = (getattr(cause, "sqlite_errorcode", None) for cause in causes)
    return any(isinstance(code, int) and code & 0xFF in _DAMAGED for code in codes)


def _named(names: Sequence[str]) -> Kind | None:
    return next((kind for word, kind in _NAMED if any(word in name for name in names)), None)


def _log_bug(error: BaseException, part: Part, name: str) -> None:
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    bug = (part, name, type(error).__name__, place)
    seen = _logged.get()
    if seen is not None and bug in seen:
        _LOG.error("The %s '%s' failed by the same error in its own code: %s", part, name, type(error).__name__)
        return
    if seen is not None:
        seen.add(bug)
    lines = "".join(traceback.format_exception(error))
    _LOG.error("The %s '%s' failed by an error in its own code:\n%s", part, name, mask(clean_text(lines)).rstrip())


# Telling that a source answered without a part of itself, so that an outage does not look like ignorance.
#
# A source whose embedding model or reranker fails goes on without it and calls `degraded`; whoever asked collects what
# was told, across the tasks that it started.


class Degradation(TypedDict):
    """`part` is `vectors`, `transformer`, `reranker`, `filter`, of a topic index `topic_index`, `topic_options` or
    `heading_choice`, or of a cascade `categories` or `files`; `reason` says why the source went on without it.

    With `failure` an exception is the reason, and readers are told its class in place of its text.
    """

    part: str
    reason: str
    failure: NotRequired[Failure]


# Parts without which a source searched no less than it was asked to: a rule chose in place of the model, or the last
# good version of a file was searched in place of a broken one.
NOTHING_LACKING = frozenset({"categories", "heading_choice", "files"})

_collected: ContextVar[list[Degradation] | None] = ContextVar("groundgraph_degraded", default=None)


T = TypeVar("T")


@contextmanager
def collecting(told: ContextVar[list[T] | None]) -> Iterator[list[T]]:
    """A list that is the value of `told` inside, also in the tasks that are started there."""
    found: list[T] = []
    token = told.set(found)
    try:
        yield found
    finally:
        told.reset(token)


def collect_degradations() -> AbstractContextManager[list[Degradation]]:
    """What `degraded` is told inside, each once."""
    return collecting(_collected)


def degraded_by(source: str, part: str, error: BaseException) -> str:
    """Tell that `source` went on without `part`, which raised `error`; returns the reason for a record."""
    told = tell_failure(error, "step", f"{part} of {source}")
    degraded(source, part, told.text, told.failure)
    return told.text


def degraded(source: str, part: str, reason: str, failure: Failure | None = None) -> None:
    """Tell that `source` went on without `part`; it is logged where nobody collects it."""
    found = _collected.get()
    told: Degradation = {"part": part, "reason": reason}
    if failure is not None:
        told["failure"] = failure
    if found is None:
        _LOG.warning("The source '%s' went on without its %s: %s", source, part, reason)
    elif told not in found:
        found.append(told)
