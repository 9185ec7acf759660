"""Floor 3: what we know of a Hermes installation: homes and profiles, hosts and audited versions, its gateway process.

Nothing here imports Hermes; what only the host can tell is asked in its own interpreter. Read homes.py first.
"""
