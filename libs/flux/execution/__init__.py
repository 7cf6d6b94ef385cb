"""From a placement plan to an order of actions."""
