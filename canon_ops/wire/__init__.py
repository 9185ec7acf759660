"""Floor 4: Canon's protocol without I/O: frames, messages, verdicts, ids, splits. Read messages.py first."""
