"""Turn cells into the columns and rows of a mixed-integer program."""
