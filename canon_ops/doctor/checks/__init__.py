"""One module an area; each lists its checks in ``CHECKS``. registry.py puts them into one order."""
