"""What the model can do in Borgee beside answering: schemas.py is what it sees, calls.py decides, bridge.py acts."""
