"""What the exit code of a command says."""

from __future__ import annotations

from groundgraph.core.errors import (
    ConfigurationError,
    EmbeddingModelChanged,
    FilterInvalid,
    GroundGraphError,
    InputInvalid,
    IntentInvalid,
    NothingToResume,
    SchemaVersionUnsupported,
)

DONE = 0
DONE_WITH_FAILURES = 1
WRONG_USE = 2
UNAVAILABLE = 3
INTERRUPTED = 130

EPILOG = """\b
Exit codes:
  0    done
  1    done, with failures that are listed
  2    wrong use, or a configuration that cannot work
  3    a needed service is not available
  130  interrupted
"""

_WRONG_USE = (
    ConfigurationError,
    EmbeddingModelChanged,
    FilterInvalid,
    InputInvalid,
    IntentInvalid,
    NothingToResume,
    SchemaVersionUnsupported,
)


def code_of(error: GroundGraphError | OSError) -> int:
    """The exit code of a command that ended with `error`."""
    return WRONG_USE if isinstance(error, _WRONG_USE) else UNAVAILABLE
