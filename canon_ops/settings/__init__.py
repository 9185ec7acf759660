"""Floor 1: THE resolution layer, pure and standard library only.

Whoever needs to know which Canon environment, agent and key are in force asks here: the command line and both
plugins. Read surroundings.py and credentials.py first; problems.py lists everything that can be wrong.
"""
