"""The RAS model: its phases, and its extraction to servers. Pure."""
