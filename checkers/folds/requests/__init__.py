"""What administrators asked for, and what the committed log made of it."""
