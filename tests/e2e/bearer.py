"""A reverse proxy on loopback that adds a bearer token, for clients that have no way to send one."""

from __future__ import annotations

import socket
import socketserver
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

_HEAD_BYTES = 64 << 10


class Bearer(socketserver.ThreadingTCPServer):
    """Forwards each request, on a connection of its own, with an `Authorization` header more."""

    daemon_threads = True

    def __init__(self, port: int, token: str) -> None:
        """Forward to `port` of loopback; `self.port` is where to ask."""
        super().__init__(("127.0.0.1", 0), _Forwarding)
        self.behind, self.token = port, token
        self.port: int = self.server_address[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()
        self.server_close()


class _Forwarding(socketserver.StreamRequestHandler):
    server: Bearer

    def handle(self) -> None:
        head = []
        while (line := self.rfile.readline(_HEAD_BYTES)) not in (b"\r\n", b""):
            if not line.lower().startswith((b"connection:", b"authorization:")):
                # a host of loopback is ours by another port; any other is what the server has to judge
                head.append(line.replace(b":%d\r" % self.server.port, b":%d\r" % self.server.behind))
        if not head:
            return
        head += [b"Connection: close\r\n", b"Authorization: Bearer %s\r\n" % self.server.token.encode(), b"\r\n"]
        with socket.create_connection(("127.0.0.1", self.server.behind), 30) as onward, suppress(ConnectionError):
            onward.settimeout(None)
            onward.sendall(b"".join(head))
            threading.Thread(target=self._hand_on, args=(onward,), daemon=True).start()
            while piece := onward.recv(1 << 16):
                self.connection.sendall(piece)

    def _hand_on(self, onward: socket.socket) -> None:
        """Send the body of the request on; when the client leaves, so do we."""
        with suppress(OSError, ValueError):  # the answer came first, and all is closed
            while piece := self.rfile.read1(1 << 16):
                onward.sendall(piece)
            onward.shutdown(socket.SHUT_RDWR)
