"""Who runs next: the scheduler. Read scheduler.py, then execution.py; both are pure. dispatch.py carries them out."""
