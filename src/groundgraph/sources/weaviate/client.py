"""The connection to a Weaviate server: deadline, readiness, breaker and typed errors in one place.

The client library retries a request to a server that is gone for 63 seconds, whatever its time limits say, and has no
setting for it. So every request runs beside a look at the server's readiness, and is cancelled when that says that the
server is gone; within a deadline of our own that one retry layer bridges a broken connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from groundgraph.core.errors import GroundGraphError, SourceTimeout, SourceUnavailable
from groundgraph.resilience.bounds import CircuitBreaker, DeadlinePassed, WorkCancelled, retrieve, within
from groundgraph.sources.weaviate.address import Address, Consistency, load_client_library
from groundgraph.sources.weaviate.errors import MAYBE_NOT_READY, OUTAGES, Fault, Place, fault_of, typed_error

if TYPE_CHECKING:
    from weaviate import WeaviateAsyncClient


# Whether a Weaviate server can be asked.
#
# That a connection succeeds says nothing: while a node restarts, it takes queries seconds before it knows what it
# holds, and then says that a collection is not there. Only its readiness endpoint is to be believed. It is asked
# directly, because the client's own `is_ready` prints its errors to standard output.

# `starting`: it answers, but not yet to questions. `silent`: it takes connections and says nothing.
State = Literal["ready", "starting", "refused", "silent"]
PROBE_LIMIT = 0.5


class Readiness:
    """Asks one server; belongs to the event loop that it is used in first."""

    def __init__(self, address: Address) -> None:
        from urllib.request import getproxies

        import httpx

        self._grpc = address.grpc_host, address.grpc_port
        self._has_proxy = bool(getproxies().keys() - {"no"})

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

    async def refuses_grpc(self) -> bool:
        """Whether nothing listens where gRPC is to be. Behind a proxy, which gRPC uses too, that is not known."""
        if self._has_proxy:
            return False
        try:
            async with asyncio.timeout(PROBE_LIMIT):
                _, writer = await asyncio.open_connection(*self._grpc)
        except ConnectionRefusedError:
            return True
        except OSError:
            # A time limit that has passed is one too.
            return False
        writer.close()
        return False

    async def close(self) -> None:
        """Close its connections."""
        await self._http.aclose()


T = TypeVar("T")

# How long a request may be silent before the server's readiness is looked at, in seconds; then again each so long.
PATIENCE = 0.5
# The shortest time between two looks at a server that failed repeatedly, in seconds.
PROBE_EVERY = 0.5
_CLOSE_LIMIT = 2.0
# So many looks in a row find nothing at the port of gRPC before it is taken for the wrong one: a node that starts may
# say that it is ready a moment before.
_GRPC_LOOKS = 3
# gRPC waits up to two minutes between its tries to reach a server that was gone; here it is used again within a second.
_CHANNEL = (
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
)


class _ServerGone(Exception):
    """The server does not answer at its address while a request waits."""


class _NoGrpc(Exception):
    """The server is ready, and nothing listens where its gRPC is to be."""


class _NotReady(Exception):
    """The server answers, but does not know yet what it holds."""


def collection_of(client: WeaviateAsyncClient, name: str, consistency: Consistency | None) -> Any:
    """The client's handle of a collection.

    Args:
        client: of the library.
        name: of the collection.
        consistency: how many replicas must agree; the server's choice when None.
    """
    collection: Any = client.collections.use(name)
    if consistency is None:
        return collection
    from weaviate.classes.config import ConsistencyLevel

    return collection.with_consistency_level(ConsistencyLevel(consistency.upper()))


@dataclass(frozen=True)
class _OfLoop:
    """What belongs to one event loop."""

    client: WeaviateAsyncClient
    readiness: Readiness

    async def close(self) -> None:
        await self.client.close()
        await self.readiness.close()


class WeaviateConnection:
    """One server, for readers and writers. May be used from several event loops, each of which gets a client.

    Nothing is opened before the first request, and the client library is loaded then.

    Args:
        address: of the server.
        timeout: seconds for one request, the first with connecting.
        failures: outages in a row after which the server is only asked again once it says that it is ready.
    """

    def __init__(self, address: Address, *, timeout: float = 10.0, failures: int = 5) -> None:
        self.address = address
        self.timeout = timeout
        self._breaker = CircuitBreaker(failures, float("inf"))
        self._last_look = float("-inf")
        self._last_seen = False
        self._is_out = False
        self._clients: dict[asyncio.AbstractEventLoop, asyncio.Task[_OfLoop]] = {}
        self._guard = threading.Lock()

    async def call(
        self,
        work: Callable[[WeaviateAsyncClient], Awaitable[T]],
        *,
        collection: str = "",
        model: str = "",
        limit: float | None = None,
    ) -> T:
        """The result of `work`, one request or several in a row.

        Args:
            work: what to do with the client; it may be called twice when the server seems to be starting.
            collection: the collection that it is about, for messages.
            model: the embedding model that made the vectors of the request, for messages.
            limit: seconds in place of `timeout`.

        Raises:
            SourceUnavailable: the server cannot be reached, is starting, or refuses the API key.
            SourceTimeout: it did not answer in time.
            SchemaChanged: a collection, property or vector is not there.
            TenantUnknown: a tenant is not there.
            EmbeddingModelChanged: a vector is of the wrong size.
            SourceError: anything else that the server refused.
        """
        place = Place(self.address.url, collection, model)
        await load_client_library()
        if not self._breaker.allows() and not await self.recovered():
            raise SourceUnavailable(
                f"{place.server} failed repeatedly and is asked again when it says that it is ready."
            )
        seconds = limit or self.timeout
        try:
            answer = await within(seconds, self._asked(work))
        except asyncio.CancelledError:
            # Whoever asked had no more time; as far as is known, the server hangs.
            self._is_out = True
            raise
        except DeadlinePassed as error:
            self._failed(outage=True)
            raise SourceTimeout(
                f"{place.server} did not answer within {seconds:g} seconds. If it answers otherwise, check that its "
                f"gRPC is at {self.address.grpc_host}:{self.address.grpc_port} (grpc_host, grpc_port)."
            ) from error
        except GroundGraphError:
            raise
        except _NoGrpc as error:
            self._failed(outage=True)
            raise SourceUnavailable(
                f"{place.server} is ready, and nothing answers at {self.address.grpc_host}:{self.address.grpc_port}, "
                "where its gRPC is to be; set `grpc_port`, and `grpc_host` where it is on another host."
            ) from error
        except Exception as error:
            fault = _fault(error)
            self._failed(outage=fault.kind in OUTAGES)
            raise typed_error(fault, place) from error
        self._breaker.succeeded()
        self._is_out = False
        return answer

    async def is_ready(self) -> bool:
        """Whether the server says that it is ready, told within half a second."""
        await load_client_library()
        readiness = Readiness(self.address)
        try:
            return await readiness.state() == "ready"
        finally:
            await readiness.close()

    async def recovered(self) -> bool:
        """Whether a server that was out is ready again; it is looked at twice a second at most."""
        if not self._is_out:
            return False
        now = time.monotonic()
        if now - self._last_look >= PROBE_EVERY:
            self._last_look = now
            self._last_seen = await self.is_ready()
        return self._last_seen

    async def close(self) -> None:
        """Close the clients of all event loops; the next request opens anew."""
        with self._guard:
            opened, self._clients = self._clients, {}
        here = asyncio.get_running_loop()
        for loop, task in opened.items():
            if loop is here:
                await _closed(task)
            elif not loop.is_closed():
                elsewhere = asyncio.run_coroutine_threadsafe(_closed(task), loop)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.wrap_future(elsewhere), _CLOSE_LIMIT)

    async def _asked(self, work: Callable[[WeaviateAsyncClient], Awaitable[T]]) -> T:
        own = await self._opened()
        try:
            return await _watched(work(own.client), own.readiness)
        except Exception as error:
            if fault_of(error).kind not in MAYBE_NOT_READY:
                raise
            if await own.readiness.state() != "ready":
                raise _NotReady from error
        # It may have become ready between the answer and the look.
        return await _watched(work(own.client), own.readiness)

    async def _opened(self) -> _OfLoop:
        loop = asyncio.get_running_loop()
        with self._guard:
            for gone in [known for known in self._clients if known.is_closed()]:
                del self._clients[gone]
            task = self._clients.get(loop)
            if task is None or (task.done() and (task.cancelled() or task.exception())):
                # A task of its own, so that whoever asked first may be cancelled without the others.
                task = self._clients[loop] = asyncio.ensure_future(_open(self.address, self.timeout))
                task.add_done_callback(retrieve)
        return await asyncio.shield(task)

    def _failed(self, *, outage: bool) -> None:
        # A server that refuses a request is well; only outages open the breaker.
        self._breaker.failed() if outage else self._breaker.succeeded()
        self._is_out = outage


def _fault(error: Exception) -> Fault:
    if isinstance(error, _NotReady):
        return Fault("not_ready")
    if isinstance(error, _ServerGone):
        return Fault("unreachable", text="nothing answers there")
    if isinstance(error, WorkCancelled):
        return Fault("unreachable", text="the connection was closed meanwhile")
    return fault_of(error)


async def _watched(work: Awaitable[T], readiness: Readiness) -> T:
    """The result of `work`, which is cancelled when the server is gone."""
    task: asyncio.Future[T] = asyncio.ensure_future(work)
    refused = 0
    try:
        while True:
            done, _ = await asyncio.wait({task}, timeout=PATIENCE)
            if done:
                return task.result()
            state = await readiness.state()
            if state in ("refused", "starting") and not task.done():
                raise _ServerGone if state == "refused" else _NotReady
            refused = refused + 1 if await readiness.refuses_grpc() else 0
            if refused == _GRPC_LOOKS and not task.done():
                raise _NoGrpc
    finally:
        task.cancel()


async def _open(address: Address, timeout: float) -> _OfLoop:
    import weaviate
    from weaviate.classes.init import AdditionalConfig, Auth, Timeout
    from weaviate.config import GrpcConfig

    client = weaviate.use_async_with_custom(
        http_host=address.host,
        http_port=address.port,
        http_secure=address.secure,
        grpc_host=address.grpc_host,
        grpc_port=address.grpc_port,
        grpc_secure=address.secure,
        headers=dict(address.headers),
        auth_credentials=Auth.api_key(address.api_key) if address.api_key else None,
        additional_config=AdditionalConfig(
            timeout=Timeout(init=timeout, query=timeout, insert=timeout),
            grpc_config=GrpcConfig(channel_options=list(_CHANNEL)),
        ),
        # The checks ask PyPI for the newest version too; the first request finds out all that they would.
        skip_init_checks=True,
    )
    try:
        await within(timeout, client.connect())
    except BaseException:
        await client.close()
        raise
    return _OfLoop(client, Readiness(address))


async def _closed(task: asyncio.Task[_OfLoop]) -> None:
    if not task.done():
        task.cancel()
    with contextlib.suppress(asyncio.CancelledError, Exception):
        await (await task).close()
