"""``canon_communicate``: reaching people and rooms beyond the conversation of the turn.

acts.py reads what the model wrote, results.py what Canon answered, both pure; tool.py asks whether the agent may and
lets its adapter do it.
"""
