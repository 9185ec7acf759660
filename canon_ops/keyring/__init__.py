"""The operating system's keyring, asked through a child process that can be killed.

Whoever needs a key that lives there enters through ``access.py``; ``child.py`` is the only module that imports the
keyring library, and it runs in a process of its own.
"""
