"""What is built on the host's symbols of :mod:`canon_hermes_plugin.host`: commands, queues, the runner, who waits."""
