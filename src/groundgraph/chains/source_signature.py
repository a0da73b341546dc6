"""What the output of someone's own chain depends on, as far as its code shows."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

from langchain_core.runnables import Runnable, RunnableLambda

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
