"""Blocks of columns and rows -> sparse matrix -> HiGHS."""
