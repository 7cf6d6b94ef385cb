"""A fake fleet, failures and demand against a controllable clock."""
