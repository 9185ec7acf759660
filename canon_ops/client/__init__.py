"""Floor 4: the httpx shell over wire/: the only home of httpx, imported on first connect. Read api.py first."""
