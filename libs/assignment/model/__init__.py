"""From cells to the columns and rows of a mixed-integer program."""
