"""Draw tiny random problems from every spec, solve them by every solver, and judge them by a second set of
definitions.
"""
