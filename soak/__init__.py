"""Run the real platform under random work and random faults, and judge the answers that its clients received."""
