"""Explain an assignment and its alternatives, in numbers and in words, by the names of specs."""
