"""Whether a Weaviate server can be asked.

That a connection succeeds says nothing: while a node restarts, it takes queries seconds before it knows what it holds,
and then says that a collection is not there. Only its readiness endpoint is to be believed. It is asked directly,
because the client's own `is_ready` prints its errors to standard output.
"""

from __future__ import annotations

from typing import Any, Literal

from groundgraph.sources.weaviate.address import Address

# `starting`: it answers, but not yet to questions. `silent`: it takes connections and says nothing.
State = Literal["ready", "starting", "refused", "silent"]
PROBE_LIMIT = 0.5


class Readiness:
    """Asks one server; belongs to the event loop that it is used in first."""

    def __init__(self, address: Address) -> None:
        import httpx

        self._http: Any = httpx.AsyncClient(
            base_url=address.url, headers=address.request_headers, timeout=PROBE_LIMIT, verify=address.secure
        )

    async def state(self) -> State:
        """How the server is."""
        import httpx

        try:
            reply = await self._http.get("/v1/.well-known/ready")
        except httpx.TimeoutException:
            return "silent"
        except httpx.HTTPError:
            return "refused"
        return "ready" if reply.status_code == 200 else "starting"

    async def close(self) -> None:
        """Close its connections."""
        await self._http.aclose()
