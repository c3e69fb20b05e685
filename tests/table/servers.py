"""Servers of the tests of object stores: a way to one that counts bytes and may hang up, and one of Google's kind."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

ROWS = "".join(f"{i},{i * i % 17},{i * i}\n" for i in range(60))
CSV = ("x,z,y\n" + ROWS).encode()
FIT = ("-t", "y", "--variant", "approximate")

Put = Callable[[str, bytes], None]
Get = Callable[[str], bytes]


class Way:
    """A way to a server: it counts the bytes of answers, and hangs up after so many of one connection."""

    def __init__(self, port: int, most: int = 1 << 60) -> None:
        self._most, self._port = most, port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.passed = 0

    def __enter__(self) -> Way:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def _serve(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._port))
            threading.Thread(target=self._pass, args=(near, far, 1 << 60, False), daemon=True).start()
            threading.Thread(target=self._pass, args=(far, near, self._most, True), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, most: int, counted: bool) -> None:
        try:
            while most > 0 and (part := source.recv(min(65536, most))):
                target.sendall(part)
                most -= len(part)
                self.passed += len(part) if counted else 0
        except OSError:
            return  # the other side has hung up
        finally:
            for one in (source, target):
                with suppress(OSError):  # it is closed already
                    # Closing alone says nothing to the other side while another thread waits for its bytes.
                    one.shutdown(socket.SHUT_RDWR)
                one.close()
