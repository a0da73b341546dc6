"""The one layer that tries again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from tenacity import AsyncRetrying, retry_if_exception

T = TypeVar("T")


async def with_retries(
    call: Callable[[], Awaitable[T]], worth_another: Callable[[BaseException], bool], **policy: Any
) -> T:
    """The result of `call`, which is tried again as long as its error is worth another try and `policy` allows it.

    Args:
        call: what is tried.
        worth_another: whether an error may pass.
        policy: `wait` and `stop` of tenacity. It counts the first try too.
    """
    try:
        return await call()
    except Exception as error:
        if not worth_another(error):
            raise
        first = error
    # Only now, because tenacity costs as much as a quick source answers in; it is told of the first failure.
    async for attempt in AsyncRetrying(retry=retry_if_exception(worth_another), reraise=True, **policy):
        with attempt:
            if attempt.retry_state.attempt_number == 1:
                raise first
            return await call()
    raise AssertionError("unreachable: the last try returns or raises")
