"""How the actions of a plan reach the systems that carry them out: one system per file."""
