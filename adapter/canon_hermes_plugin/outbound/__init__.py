"""What goes to Canon: the effects of turns, final messages, notices, and messages of a process without a gateway."""
