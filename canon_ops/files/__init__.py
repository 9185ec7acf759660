"""Floor 2: files that people own. Lock, transaction, and two editors that keep every byte nobody asked about.

Nothing else in the project writes a user's file. Read transaction.py first.
"""
