"""Solve the RAS model: its phases, and the extraction to servers. Pure."""
