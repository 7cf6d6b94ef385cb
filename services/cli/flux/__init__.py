"""`plimsoll flux`: plan from files, or through the planner service."""
