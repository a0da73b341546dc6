"""Telling whether a database was written to."""

from __future__ import annotations

import time
from dataclasses import dataclass

# A file's time has the grain of the file system: written again at once, it may look the same.
_SETTLED = 2.0


@dataclass(frozen=True)
class Version:
    """What a cheap look tells of the state of a database; two equal ones mean that nothing was written.

    Attributes:
        file: what also means something to another process: of SQLite device, inode, size and time of the file and of
            its write-ahead log; of PostgreSQL a digest of the tables' rows and columns.
        data: what only means something to this process: SQLite's own count of changes.
        has_time: whether the last number of `file` is a time, in nanoseconds.
    """

    file: tuple[int, ...]
    data: int
    has_time: bool = False

    def is_settled(self) -> bool:
        """Whether a later process may rely on `file`: a write in the same instant would not have changed it."""
        return not self.has_time or time.time_ns() - self.file[-1] > _SETTLED * 1e9
