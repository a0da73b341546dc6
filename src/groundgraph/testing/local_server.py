"""A threaded HTTP server on loopback that closes cleanly: no thread and no socket is left."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# The longest that `close` waits for one handler, in seconds.
_JOIN_LIMIT = 5.0


class LocalServer(ThreadingHTTPServer):
    """Serves on a free port of 127.0.0.1 from construction until `close`.

    Args:
        handler: the class that handles one connection.

    Attributes:
        aborted: how often a client went away before its answer was complete.
    """

    # The threads are waited for by `close`, which knows how to end them.
    block_on_close = False
    # Fifty clients at once are no reason to turn one away.
    request_queue_size = 128

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.aborted = 0
        self._closing = threading.Event()
        self._open: dict[socket.socket, threading.Thread] = {}
        self._main = threading.Thread(target=self._serve, name="groundgraph-stub", daemon=True)
        self._main.start()

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.server_address[1])

    def wait(self, seconds: float) -> None:
        """Wait, or less when the server closes meanwhile."""
        if seconds > 0:
            self._closing.wait(seconds)

    def close(self) -> None:
        """Stop listening, break open connections off, and wait for every thread."""
        self._closing.set()
        self.shutdown()
        self._main.join()
        for connection, thread in list(self._open.items()):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            thread.join(_JOIN_LIMIT)
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Handle one connection in a thread that `close` knows from before it starts."""
        arguments = (request, client_address)
        thread = threading.Thread(target=self.process_request_thread, args=arguments, daemon=True)
        self._open[request] = thread
        thread.start()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Handle one connection and forget it."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._open.pop(request, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Count clients that went away; anything else is a fault of the stub and is printed."""
        if isinstance(sys.exc_info()[1], ConnectionError):
            self.aborted += 1
        else:
            super().handle_error(request, client_address)

    def _serve(self) -> None:
        # The default interval of half a second would be paid at every close.
        self.serve_forever(poll_interval=0.01)
