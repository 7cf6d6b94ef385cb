"""Kinds of changes that a search tries, one a file: each asks about one at random and says how many objects move."""
