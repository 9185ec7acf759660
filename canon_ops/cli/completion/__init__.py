"""Completion for bash, zsh and fish: scripts that hold the whole command tree, and the few values they have to ask for.

Read :mod:`~canon_ops.cli.completion.outline` first: the tree as plain data, which each dialect writes down in its own
words. What depends on the machine (profiles, keys, history) is asked by ``canon-ops __complete KIND WORD…``, which
:mod:`~canon_ops.cli.completion.answer` answers from a cache, without importing click.
"""
