"""The real platform under random work and random faults, and a judge of what its clients were told."""
