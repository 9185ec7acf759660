"""Floor 6: checks as objects. A check has an id, a question, and answers with a verdict, evidence and a fix.

Checks only look; what they need from the world they ask of one :class:`Examination`, which fetches each fact once. The
command line prints what run.py returns. Read check.py first, then one module of checks/.
"""
