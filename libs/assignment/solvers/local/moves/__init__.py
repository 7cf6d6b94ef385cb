"""Hold the kinds of changes of a search, one per file. Each puts a random change and returns the number of moved
objects.
"""
