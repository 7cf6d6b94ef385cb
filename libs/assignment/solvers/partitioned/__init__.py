"""Solve a problem in parts on their own (POP): distribute objects, divide limits, and join the answers."""
