"""One run of the agent: what happens to it, and what must be said to Canon about it. Pure.

Read machine.py first (the theory and the table) beside state.py (what a turn is), then routing.py (whose call is
this?), then registry.py (all turns).
"""
