"""Who is signed in, as a server tells it (R13)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from langgraph.runtime import Runtime, ServerInfo

from groundgraph import load_settings
from groundgraph.core.errors import ScopeMissing
from groundgraph.nodes.node import enforced_filters, signed_in

pytestmark = pytest.mark.covers("R13")


class ServersUser:
    """Has what LangGraph's `BaseUser` asks for, and no more; false, since it has no length of its own."""

    identity = "alice"

    def __init__(self, **fields: Any) -> None:
        self._fields = fields

    def __iter__(self) -> Any:
        return iter(self._fields)

    def __getitem__(self, name: str) -> Any:
        return self._fields[name]

    def __bool__(self) -> bool:
        return False


def running(user: Any) -> Runtime[Any]:
    return Runtime(server_info=ServerInfo(assistant_id="a", graph_id="turn", user=user))


def test_the_fields_of_the_signed_in_user_are_known() -> None:
    assert signed_in(running(ServersUser(tenant="acme", groups=["a"]))) == {
        "tenant": "acme", "groups": ["a"], "identity": "alice"
    }  # fmt: skip


def test_the_identity_is_the_servers_and_not_a_fields() -> None:
    assert signed_in(running(ServersUser(identity="bob"))) == {"identity": "alice"}


def test_a_user_with_an_identity_alone_is_known_by_it() -> None:
    assert signed_in(running(SimpleNamespace(identity="job"))) == {"identity": "job"}


def test_without_a_server_or_a_user_nobody_is_signed_in() -> None:
    assert signed_in(Runtime()) is None
    assert signed_in(running(None)) is None


@pytest.mark.parametrize("user", [None, {"identity": "job"}, {"identity": "x", "tenant": ""}])
def test_a_user_without_the_field_is_refused(user: Any) -> None:
    settings = load_settings({"retrieval": {"scope_filters": {"docs": {"tenant": "user.tenant"}}}})
    with pytest.raises(ScopeMissing, match=r"user\.tenant"):
        enforced_filters(settings, {"tenant": "acme"}, user)
