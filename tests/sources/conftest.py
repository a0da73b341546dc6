"""What every test of a source has."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from asking import close_opened


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a source writes beside its configuration lands in the test's own folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
async def _closed() -> AsyncIterator[None]:
    yield
    await close_opened()
