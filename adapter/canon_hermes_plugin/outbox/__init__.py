"""Durable messages: how one is cut, named, repeated and settled. Pure; read operations.py first."""
