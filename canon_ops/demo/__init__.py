"""Floor 8: the whole product against the sandbox, in a temporary home."""
