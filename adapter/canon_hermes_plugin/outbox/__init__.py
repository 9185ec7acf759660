"""Durable messages: how one is cut, named, repeated and settled, and how it outlives the gateway.

Read operations.py first (pure), then store.py (the tables) and keeper.py (the shell).
"""
