"""Files on messages: what people attach on its way to the agent, and what the agent attaches on its way to Canon.

Read policy.py first (who may see what), then gathering.py (pure: what becomes of a message's attachments); intake.py is
the shell of the one direction, outgoing.py of the other.
"""
