"""Plan runs, placement plans, planning inputs, overrides and service models."""
