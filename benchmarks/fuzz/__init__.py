"""Tiny random problems from every spec, solved by every solver and judged by definitions written out again."""
