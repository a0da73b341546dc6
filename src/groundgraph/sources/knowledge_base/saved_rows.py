"""Vectors in a file that are read when they are asked for.

Mapping the file takes a page fault for each row that the process has not read before, some ten times as long as a read;
and a mapped file that is cut off ends the process.
"""

from __future__ import annotations

import os
import threading
import weakref
from pathlib import Path
from typing import Any


class VectorsUnsaved(Exception):
    """The base is large, and the files that hold its vectors are not there or damaged."""


class SavedRows:
    """Rows of 32-bit numbers in a file as numpy writes it; may be used by several threads.

    Attributes:
        shape: rows and dimension.

    Raises:
        OSError: the file cannot be read.
        ValueError: it holds something else, or is cut off.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        weakref.finalize(self, self._file.close)
        self.shape, self._start = _checked_header(self._file)
        self._width = 4 * self.shape[1]
        self._moving = threading.Lock()

    def __len__(self) -> int:
        return self.shape[0]

    def read(self, numbers: Any, rows: Any) -> None:
        """Fill `rows`, a float32 array of shape (numbers, dimension), with those rows; `numbers` are ascending.

        Raises:
            VectorsUnsaved: the file was cut off meanwhile, or cannot be read.
        """
        import numpy as np

        if not len(numbers):
            return
        breaks = (np.flatnonzero(np.diff(numbers) != 1) + 1).tolist()
        starts, ends = [0, *breaks], [*breaks, len(numbers)]
        buffer, width = memoryview(rows).cast("B"), self._width
        for start, end, number in zip(starts, ends, numbers[starts].tolist(), strict=True):
            self._fill(buffer[start * width : end * width], self._start + number * width)

    def _fill(self, buffer: memoryview, offset: int) -> None:
        while len(buffer):
            try:
                count = self._read_at(buffer, offset)
            except OSError as error:
                raise VectorsUnsaved from error
            if not count:
                raise VectorsUnsaved
            buffer, offset = buffer[count:], offset + count

    def _read_at(self, buffer: memoryview, offset: int) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(self._file.fileno(), [buffer], offset)
        with self._moving:
            self._file.seek(offset)
            return self._file.readinto(buffer) or 0


def _checked_header(file: Any) -> tuple[tuple[int, int], int]:
    """The shape that `file` tells, and where its first row begins."""
    import numpy as np

    np.lib.format.read_magic(file)
    shape, by_columns, kind = np.lib.format.read_array_header_1_0(file)
    start = file.tell()
    held = os.fstat(file.fileno()).st_size - start
    if len(shape) != 2 or by_columns or kind != np.dtype("<f4") or held < 4 * shape[0] * shape[1]:
        raise ValueError("no rows of 32-bit numbers, or fewer than the file says")
    return shape, start
