"""A test without a network: whoever looks a name up or connects has failed."""

from __future__ import annotations

import socket
from typing import Any

import pytest


def refuse_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every way out of this process fail."""

    def refused(*_: Any, **__: Any) -> Any:
        raise AssertionError("nothing may be downloaded")

    monkeypatch.setattr(socket, "getaddrinfo", refused)
    monkeypatch.setattr(socket.socket, "connect", refused)
