"""Floor 1: time, tasks and what the kernel tells of the machine. Every room may enter; read clock.py first."""
