"""What people see while a turn runs: when the node is written, and with what. Pure; read preview.py first."""
