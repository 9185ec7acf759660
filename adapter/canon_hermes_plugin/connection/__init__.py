"""The way to Canon: credential, stream, heartbeat, and what the gateway says of its health."""
