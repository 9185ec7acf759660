"""How a command reaches the gateway that owns the inbox: protocol.py (pure), server.py (there), client.py (here)."""
