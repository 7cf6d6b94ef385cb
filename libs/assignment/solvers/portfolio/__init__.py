"""Run the phases of the portfolio on counts of a lowered problem: relaxation, rounding, restoring, neighbourhoods."""
