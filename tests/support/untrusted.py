"""A server on loopback whose certificate nobody has signed, as a proxy that reads along would show one."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["untrusted_server"]

# Made for this test; it opens nothing.
_PAIR = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgybNvCuoj0hZy13yy
3imTxxQTcBxol2zx/Gta95/w2tChRANCAATXQz1ozywb2D9Q/TmYMZ/uz36tJQU8
1DtB3HvvTTGwssMAmAybM9s1RpnwSQY9Qit3QkHronpTKz5R33d25t9i
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBkTCCATagAwIBAgIUWWGYzL+UeExQbLWhTV7ek5WsBRYwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJMTI3LjAuMC4xMCAXDTI2MTEzMDIyNDcyMVoYDzIxMjYxMTA2
MjI0NzIxWjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAATXQz1ozywb2D9Q/TmYMZ/uz36tJQU81DtB3HvvTTGwssMAmAybM9s1
RpnwSQY9Qit3QkHronpTKz5R33d25t9io2QwYjAdBgNVHQ4EFgQUX4xbRuV6CgU2
4/bedOn5q4h84IAwHwYDVR0jBBgwFoAUX4xbRuV6CgU24/bedOn5q4h84IAwDwYD
VR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0kAMEYC
IQDjyN9t4wc4nCticJksaPHwhdpM8j+RjkjbF5uCZ/LBEwIhAPaEgKnFnPIqkmvc
RRbcFY65J0ox4mkP+nyd1kG21IIU
-----END CERTIFICATE-----
"""


@contextmanager
def untrusted_server(folder: Path, asked_for: list[str | None] | None = None) -> Iterator[str]:
    """Its address, ``https://127.0.0.1:PORT``; a client that checks certificates gets no further than the handshake.

    Args:
        asked_for: takes the names for which clients wanted a certificate.
    """
    file = folder / "untrusted.pem"
    file.write_text(_PAIR)
    file.chmod(0o600)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    names = [] if asked_for is None else asked_for
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):  # the listener was closed
            while True:
                connection, _ = listener.accept()
                with connection, suppress(OSError), context.wrap_socket(connection, server_side=True) as encrypted:
                    encrypted.recv(1)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)
