"""`groundgraph serve`: a page to ask in, and an endpoint for chat clients; `groundgraph mcp`: the sources for an
editor or an assistant on this machine, by the Model Context Protocol."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from socket import AF_INET, AF_INET6, SO_REUSEADDR, SOL_SOCKET, socket
from typing import TYPE_CHECKING, Annotated

import typer

from groundgraph.cli.ask import prepare_folders
from groundgraph.cli.ingest import take_in
from groundgraph.cli.options import AsJson, ConfigFile, find_settings
from groundgraph.cli.output import DONE, note, on_terminal, write_json
from groundgraph.core.errors import ConfigurationError, GroundGraphError, Problem

if TYPE_CHECKING:
    import uvicorn

    from groundgraph.serve.app import Served
    from groundgraph.serve.users import KnowsUsers
    from groundgraph.settings.settings import Settings


TOKEN = "GROUNDGRAPH_TOKEN"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
# So long, in seconds, answers that are being written may take when the server ends.
_GRACE = 20


def serve(
    path: Annotated[
        str | None,
        typer.Argument(metavar="PATH", help="Documents to take in first, as `ingest` does.", show_default=False),
    ] = None,
    host: Annotated[
        str, typer.Option(metavar="NAME", help="Where to listen; beyond this machine only for users who sign in.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="The port; 0 for any.")] = 8000,
    users: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=f"Users by the SHA-256 of their tokens (docs/serve.md). For a single one set {TOKEN}.",
        ),
    ] = None,
    auth: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.py:NAME",
            help="Users as a function of yours knows them: an Auth of langgraph_sdk, as for a LangGraph Server.",
        ),
    ] = None,
    rate: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many questions and changes a minute from each user.")
    ] = 60,
    uploads: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Readers may drop documents on the page, which are kept here."),
    ] = None,
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Open a page over your documents. Beside it, OpenAI's clients have an endpoint at /v1.

    Conversations are kept where `ask` and `chat` keep theirs. Ends with Ctrl-C or SIGTERM, when the answers that are
    being written are done: with 0 after SIGTERM.
    """
    _need_packages()
    from groundgraph.serve.app import Served

    known = _users(users, auth)
    _refuse_strangers(host, known)
    if path is not None and "://" not in path and not Path(path).exists():
        raise ConfigurationError([Problem("PATH", f"there is no file or folder '{path}'")])
    settings = find_settings(config)
    hosts = () if known.sign_in else LOOPBACK
    # Before the documents are taken in, which may take long.
    with _bound(host, port) as bound:
        if path is not None:
            take_in(settings, path, quiet=as_json)
        served = Served(known, hosts, rate, uploads or _uploads(settings))
        if signal.SIGINT in asyncio.run(_serve(settings, served, bound, opens=open_page, as_json=as_json)):
            raise KeyboardInterrupt
    # SIGTERM is how systemd, Docker and Kubernetes end a server: any other code is a failure to them.
    raise typer.Exit(DONE)


def _uploads(settings: Settings) -> Path | None:
    """Where the configuration keeps what readers drop on the page; None where they may not."""
    folder = settings.server.page_uploads
    return settings.at(folder) if folder else None


def _refuse_strangers(host: str, known: KnowsUsers) -> None:
    """
    Raises:
        ConfigurationError: others reach `host`, and nobody has to sign in.
    """
    if host not in LOOPBACK and not known.sign_in:
        told = f"'{host}' can be reached by others, and nobody has to sign in: set {TOKEN}, or name --users or --auth"
        raise ConfigurationError([Problem("--host", told)])


def _users(file: Path | None, auth: str | None) -> KnowsUsers:
    """
    Raises:
        ConfigurationError: they cannot be read, or are named in two ways.
    """
    from groundgraph.serve.users import OwnAuth, Users

    token = os.environ.get(TOKEN)
    if auth is None:
        return Users.of(token, file)
    if token or file:
        raise ConfigurationError([Problem("--auth", f"knows all users by itself: leave out {TOKEN} and --users")])
    return OwnAuth.at(auth)


def _need_packages() -> None:
    missing = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise ConfigurationError([Problem("serve", 'needs: pip install "groundgraph[page]"')])


def _bound(host: str, port: int) -> socket:
    """Where the server will listen.

    Raises:
        ConfigurationError: it cannot listen there.
    """
    bound = socket(AF_INET6 if ":" in host else AF_INET)
    try:
        bound.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
        bound.bind((host, port))
    except (OSError, UnicodeError) as error:
        bound.close()
        reason = getattr(error, "strerror", None) or error
        told = f"the server cannot listen on {host}, port {port} ({reason}): choose another --port, or --host"
        raise ConfigurationError([Problem("serve", told)]) from None
    return bound


async def _serve(settings: Settings, served: Served, bound: socket, *, opens: bool, as_json: bool) -> set[int]:
    """The signals that ended it."""
    import uvicorn

    from groundgraph.graph.open_graph import open_graph
    from groundgraph.serve.app import serve_app

    prepare_folders(settings)
    async with open_graph(settings) as graph:
        app = serve_app(graph, served)
        config = uvicorn.Config(
            app, log_level="warning", timeout_graceful_shutdown=_GRACE, server_header=False, lifespan="on"
        )
        server = uvicorn.Server(config)
        with _raised_once() as raised:
            await asyncio.gather(_run(server, bound), _told(server, _address(bound), opens, as_json))
    return raised


async def _run(server: uvicorn.Server, bound: socket) -> None:
    try:
        await server.serve([bound])
    except SystemExit:
        raise GroundGraphError("The server could not start; the lines above say why.") from None


@contextmanager
def _raised_once() -> Iterator[set[int]]:
    """A signal on which uvicorn ends it raises again, which would end the process before the graph is closed: here it
    only becomes one of the set."""
    raised = set[int]()
    handled = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda number, _: raised.add(number)) for number in handled}
    try:
        yield raised
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _address(bound: socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


async def _told(server: uvicorn.Server, address: str, opens: bool, as_json: bool) -> None:
    """Say where the page is as soon as it is there."""
    while not server.started:
        if server.should_exit:
            return
        await asyncio.sleep(0.02)
    _settle()
    if as_json:
        write_json({"url": address})
    else:
        note(f"The page is at {address}; chat clients ask at {address}v1. Ctrl-C ends it.")
    if opens and on_terminal():
        import webbrowser

        await asyncio.to_thread(webbrowser.open, address)


def _settle() -> None:
    """What is there now stays as long as the server: nobody looks through it for garbage again, and through what the
    turns hold, of which next to nothing is, less often. Each such look stops every answer (docs/deployment.md)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*gc.get_threshold()[:2], 100)


def mcp(config: ConfigFile = None, as_json: AsJson = False) -> None:  # noqa: ARG001 - the protocol is JSON anyway
    """Let an editor or an assistant ask. It does over standard input and output (Model Context Protocol).

    Its tools are ask, search, open_passage and list_sources, its resources the documents. The same stands at /mcp of
    `groundgraph serve`.
    """
    if find_spec("mcp") is None or find_spec("starlette") is None:
        raise ConfigurationError([Problem("mcp", 'needs: pip install "groundgraph[mcp,page]"')])
    asyncio.run(_serve_editors(find_settings(config)))
    raise typer.Exit(DONE)


async def _serve_editors(settings: Settings) -> None:
    from groundgraph.graph.open_graph import open_graph
    from groundgraph.serve.graph_conversations import GraphConversations
    from groundgraph.serve.mcp_server import GroundedServer

    prepare_folders(settings)
    async with open_graph(settings) as graph:
        await GroundedServer(GraphConversations(graph)).run_stdio_async()
