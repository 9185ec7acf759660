"""What each endpoint decides, without HTTP: ``(world, call) -> Reply``.

Called by ``exchange`` only; read ``routes`` first.
"""
