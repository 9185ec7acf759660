"""Floor 1: time and tasks, handed in. Every room may enter; read clock.py first."""
