"""A file that is asked for and does not come before a test lets it, so that what waits for it can be seen waiting."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["HeldFile", "held_file"]


@dataclass(frozen=True, slots=True)
class HeldFile:
    """The file's address, whether it was asked for, and what lets it go."""

    url: str
    asked: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)


@contextmanager
def held_file(data: bytes, *, mime_type: str) -> Iterator[HeldFile]:
    """Serve ``data`` on a free port of this machine once it is released."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            held.asked.set()
            held.released.wait()
            self.send_response(200)
            self.send_header("Content-Type", mime_type)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        held = HeldFile(f"http://127.0.0.1:{server.server_address[1]}/cat.png")
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        serving.start()
        try:
            yield held
        finally:
            held.released.set()
            server.shutdown()
            serving.join()
