"""Inputs that nobody would write by hand: mutate.py makes them, targets.py says what they must never do.

``make test`` runs a small slice, ``make fuzz`` a million of each (FUZZ_N, FUZZ_SEED). An input that broke a promise is
put into ``finds/<target>/`` and is tried first from then on.
"""
