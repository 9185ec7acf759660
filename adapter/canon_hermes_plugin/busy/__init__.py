"""What a message does to a session that is busy, and what becomes of the messages that wait in one.

The adapter class enters here; open intents.py first, it holds the table. Only dispatcher.py and dequeue.py touch the
host's objects, through hosting/runner.py and hosting/queue.py.
"""
