"""How a decision reaches the world: one actuator per file."""
