"""The shape of a step, and the filters that hold in a run whatever its intent says."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import Any, Protocol, TypeVar

from langgraph.runtime import Runtime

from groundgraph.core.scope import scope_token, scope_values
from groundgraph.settings.context import Context, scope_in_force
from groundgraph.settings.settings import Settings

# The filters that hold in a run whatever its intent says.


def signed_in(runtime: Runtime[Context]) -> dict[str, Any] | None:
    """What is known of the user that a server has authenticated, by name; None when there is none."""
    user = runtime.server_info.user if runtime.server_info else None
    # A user may be anything with an identity; the server's own are mappings, and false when they are empty.
    if user is None:
        return None
    known = {str(name): user[name] for name in user} if hasattr(user, "__iter__") else {}
    return {**known, "identity": user.identity}


def enforced_filters(
    settings: Settings, scope: Mapping[str, Any], user: Mapping[str, Any] | None
) -> dict[str, dict[str, Any]]:
    """Default filters and scope filters together, by source and field; no field has both.

    Raises:
        ScopeMissing: the run brings no value for a scope filter.
    """
    scoped = scope_values(settings.retrieval.scope_filters, scope, user)
    defaults = settings.intent.default_filters
    return {name: {**defaults.get(name, {}), **scoped.get(name, {})} for name in {**defaults, **scoped}}


def evidence_scope(settings: Settings, runtime: Runtime[Context], options: dict[str, Any]) -> str:
    """The scope that a turn keeps its evidence in and may read it from; empty where there are no scope filters.

    Args:
        settings: with the scope filters.
        runtime: of the run, which may go on with a turn that another began.
        options: the choices that the turn began with.

    Raises:
        ScopeMissing: the run is in another scope than the turn.
    """
    filters = settings.retrieval.scope_filters
    return scope_token(filters, scope_in_force(options, runtime.context), signed_in(runtime)) if filters else ""


StateT_contra = TypeVar("StateT_contra", contravariant=True)
UpdateT_co = TypeVar("UpdateT_co", covariant=True)


class Node(Protocol[StateT_contra, UpdateT_co]):
    """A step of a graph: reads its part of the state, gives a partial update."""

    def __call__(self, state: StateT_contra, *, runtime: Runtime[Context]) -> Awaitable[UpdateT_co]:
        """The update."""
