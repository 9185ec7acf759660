"""What has arrived and what became of it, kept on disk.

Pure: items.py, recovery.py; SQL: store.py (messages), cursors.py (the stream), turns.py; shell: keeper.py.
Read items.py first: it holds the states of a message and what each of them promises.
"""
