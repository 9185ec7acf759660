"""Floor 6: checks as objects. A check has an id, a question, and answers with a verdict, evidence and a fix."""
