"""Canon as a platform of the Hermes gateway.

Importing this package imports no host module and no network library; only :func:`register` may. Read registration.py
first, then runtime.py.
"""

from __future__ import annotations
