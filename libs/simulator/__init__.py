"""A made-up fleet with failures and demand, driven by a controllable clock."""
