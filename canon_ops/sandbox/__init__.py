"""Floor 5: a loopback Canon server and a loopback model, for trials and tests; the only home of starlette and uvicorn.

Enter through ``server.CanonSandbox`` and ``model.server.ModelSandbox``. Read ``state`` (what the server knows, pure)
first, then ``rest/`` (what each endpoint decides, pure), ``faults`` (scripted trouble), ``human`` (the people on the
other side) and ``app`` (HTTP).
"""
