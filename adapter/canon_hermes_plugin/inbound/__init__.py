"""What comes from Canon, on its way to the host: the stream's events in order, the wake gate, and what is told back."""
