"""Solve problems, with one file or folder per solver."""
