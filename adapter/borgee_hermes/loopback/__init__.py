"""A loopback Borgee server, for trials and tests. Enter through ``server.BorgeeSandbox``.

Read ``world`` (what the server knows, pure) first, then ``actions/`` (what an agent may do, pure), ``fault_kinds``
(scripted trouble), ``human`` (the people on the other side), ``engine`` (what a frame leads to) and ``sockets`` (I/O).
It is checked by the published client before ours is allowed to agree with it, and shares no code with ``bpp``.
"""
