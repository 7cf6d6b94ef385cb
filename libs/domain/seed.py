"""The seeds that solves take."""

SEED_MAX = 2**31 - 1
"""The largest seed, which is the largest one of HiGHS. The smallest is 0."""
