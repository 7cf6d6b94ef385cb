"""Answers in names, as tables and frames, and their explanations."""
