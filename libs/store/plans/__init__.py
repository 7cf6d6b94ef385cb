"""Plans of target bindings, the solve runs that make them, and simulations."""
