"""canon-ops: operate the Canon and Borgee platforms of a Hermes Agent host.

Importing this package imports nothing else; read ARCHITECTURE.md for the map of its rooms.
"""

__version__ = "0.1.0"
