"""Floor 8: the only home of click, rich and questionary. It parses, calls one function below, and prints the result.

Read main.py first; each command is a module in commands/, loaded when it is called.
"""
