"""Target -> current bindings, one bounded step at a time."""
