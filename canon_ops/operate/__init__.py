"""Floor 6: the work behind the commands: install, set up, register.

Parsing and printing live in cli. Read install.py first.
"""
