"""A loopback OpenAI-compatible chat endpoint with scripted answers.

Enter through ``server.ModelSandbox``; read ``script`` first: it decides what is answered, pure.
"""
