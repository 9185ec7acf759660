"""Floor 5: a loopback Canon server and a loopback model, for trials and tests.

``state`` decides, ``app`` speaks HTTP, ``faults`` is scripted trouble, ``human`` is the person on the other side.
"""
