"""The planner's loops."""
