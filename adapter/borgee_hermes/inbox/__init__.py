"""What a person said, on disk before anything is done about it. Read records.py (the states), then store.py.

The gateway goes through :class:`~borgee_hermes.inbox.inbox.Inbox`; commands call the functions of ``store`` and
``operator`` with ``read_once`` and ``write_once``. No other module speaks SQL.
"""
