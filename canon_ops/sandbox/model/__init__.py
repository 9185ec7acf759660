"""A loopback OpenAI-compatible chat endpoint with scripted answers."""
