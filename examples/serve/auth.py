"""Who may do what on the server: every thread, run, assistant, cron job and stored item belongs to one user.

Users stand in the JSON file that `SERVE_USERS` names, `users.json` beside this file by default. It holds the SHA-256 of
each token and never a token. Put your identity provider in the place of `authenticate`; the rules below stay.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from langgraph_sdk import Auth

auth = Auth()
PUBLISH = "publish"


def _users() -> dict[str, dict[str, Any]]:
    """The users by the SHA-256 of their token."""
    path = Path(os.environ.get("SERVE_USERS") or Path(__file__).parent / "users.json")
    table = json.loads(path.read_text("utf-8"))
    return {user["token_sha256"]: {"identity": name, **user} for name, user in table.items()}


USERS = _users()


@auth.authenticate
async def authenticate(authorization: str | None) -> dict[str, Any]:
    """The user of a request; 401 without a token that is known."""
    scheme, _, token = (authorization or "").partition(" ")
    user = USERS.get(hashlib.sha256(token.encode()).hexdigest()) if scheme.lower() == "bearer" else None
    if user is None:
        raise Auth.exceptions.HTTPException(status_code=401, detail="Send your token: Authorization: Bearer TOKEN")
    return {
        "identity": user["identity"],
        # Scope filters take it from here: `user.tenant` in groundgraph.yaml.
        "tenant": user["tenant"],
        "permissions": user.get("permissions", []),
        "is_authenticated": True,
    }


@auth.on
async def refuse(ctx: Auth.types.AuthContext, value: Any) -> bool:  # noqa: ARG001
    """What no rule below speaks of is refused, also what a later version of the server brings."""
    return False


@auth.on.threads
async def own_threads(ctx: Auth.types.AuthContext, value: Any) -> dict[str, str]:
    """Threads with their runs and copies: only those of the user, and nobody can give one away."""
    _belongs_to_user(ctx, value)
    return {"owner": ctx.user.identity}


@auth.on.crons
async def own_crons(ctx: Auth.types.AuthContext, value: Any) -> dict[str, str]:
    """Cron jobs in the same way."""
    _belongs_to_user(ctx, value)
    return {"owner": ctx.user.identity}


@auth.on.assistants
async def own_assistant(ctx: Auth.types.AuthContext, value: Any) -> dict[str, Any]:
    """Everybody may use the server's own assistants and published ones; only its owner may change one."""
    if ctx.action in ("read", "search"):
        return {"$or": [{"owner": ctx.user.identity}, {"created_by": "system"}, {"published": True}]}
    _belongs_to_user(ctx, value)
    if value.get("metadata"):
        value["metadata"].pop("created_by", None)
        if PUBLISH not in ctx.permissions:
            value["metadata"].pop("published", None)
    return {"owner": ctx.user.identity}


@auth.on.store
async def own_items(ctx: Auth.types.AuthContext, value: Any) -> None:
    """A user's items stand below (`users`, name); evidence and provenance of turns are nobody's to read or write."""
    mine = ("users", ctx.user.identity)
    namespace = tuple(value.get("namespace") or mine)
    if namespace[:2] != mine:
        raise Auth.exceptions.HTTPException(status_code=403, detail=f"Your items stand below {list(mine)}.")
    value["namespace"] = namespace


def _belongs_to_user(ctx: Auth.types.AuthContext, value: Any) -> None:
    """Writes the owner into what is created or changed, in place of any that a client sent."""
    if ctx.action in ("create", "create_run", "update") and isinstance(value, dict):
        metadata = value.get("metadata")
        if metadata is None:
            value["metadata"] = metadata = {}
        metadata["owner"] = ctx.user.identity
