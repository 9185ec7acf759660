"""Borgee's protocol, spoken as a client. Read session.py (the machine, pure) first, then client.py (its shell).

The rest of the plugin knows :mod:`port <borgee_hermes.bpp.port>` only. The one home of ``websockets`` beside loopback/.
"""
