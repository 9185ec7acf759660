"""What agent and host put to people: cards.py for cards, people.py for the host's questions and commands."""
