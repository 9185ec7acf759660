"""What the agent can do on Canon beyond answering. Read offer.py first, then runtime_control.py.

A handler runs on a thread of the agent and owns nothing: it reads the host's session values, finds the adapter that the
call belongs to, and lets that adapter do the work (acting.py).
"""
