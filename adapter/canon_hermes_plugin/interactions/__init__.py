"""Cards and questions that the agent puts to people. Read cards.py first; the rules of an answer are in answers.py."""
