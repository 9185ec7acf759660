"""SHA-256 without OpenSSL.

``hashlib`` loads OpenSSL, which takes longer than all that a commit of a small file computes. The interpreter has an
implementation of its own, the one that ``hashlib`` falls back to; where there is none, ``hashlib`` it is. What is
hashed here tells whether a file changed, and keeps nothing secret.
"""

from __future__ import annotations

import importlib

from canon_ops.hints import TYPE_CHECKING, Any

__all__ = ["sha256"]


def _built_in() -> Any:
    for name in ("_sha2", "_sha256"):  # Python 3.12 and later, Python 3.11
        try:
            return importlib.import_module(name).sha256
        except (ImportError, AttributeError):
            continue
    import hashlib

    return hashlib.sha256


if TYPE_CHECKING:
    from hashlib import sha256
else:
    sha256 = _built_in()
