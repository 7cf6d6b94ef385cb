"""The phases of the portfolio, on the counts of a lowered problem: relaxation, rounding, restoring, neighbourhoods."""
