"""One process for a Hermes home, one for a key at a server. Read ownership.py."""
