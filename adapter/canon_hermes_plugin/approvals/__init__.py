"""Detached approvals: durable requests for a human's yes or no that outlive the turn, the gateway and the machine.

- :mod:`entry` is one approval, :mod:`machine` its life (pure);
- :mod:`book` is the registry as a value, :mod:`store` the file that it lies in.
"""
